package import LarderModel
package import LarderNormalize
package import LarderStore
package import LarderStrategy

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias CacheStatus = LarderStrategy.CacheStatus
package typealias EntryKind = LarderModel.EntryKind
package typealias FetchPolicy = LarderModel.FetchPolicy
package typealias ModifierReason = LarderModel.ModifierReason
package typealias ModifierRequest = LarderStrategy.ModifierRequest
package typealias ModifierState = LarderModel.ModifierState
package typealias NormalizedUsage = LarderModel.NormalizedUsage
package typealias PinState = LarderModel.PinState
package typealias Reference = LarderNormalize.Reference
package typealias TargetName = LarderStore.TargetName
package typealias Timestamp = LarderModel.Timestamp
package typealias WatchKind = LarderModel.WatchKind
