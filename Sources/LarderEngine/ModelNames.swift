package import LarderModel
package import LarderNormalize
package import LarderStore
package import LarderStrategy

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias CacheStatus = LarderStrategy.CacheStatus
package typealias DeletionRule = LarderModel.DeletionRule
package typealias EntityName = LarderModel.EntityName
package typealias EntryKind = LarderModel.EntryKind
package typealias FetchPolicy = LarderModel.FetchPolicy
package typealias ModifierChange = LarderModel.ModifierChange
package typealias ModifierReason = LarderModel.ModifierReason
package typealias ModifierRequest = LarderStrategy.ModifierRequest
package typealias ModifierState = LarderModel.ModifierState
package typealias NormalizedUsage = LarderModel.NormalizedUsage
package typealias OriginScope = LarderModel.OriginScope
package typealias OriginSource = LarderModel.OriginSource
package typealias OriginState = LarderModel.OriginState
package typealias PinState = LarderModel.PinState
package typealias PinUsage = LarderStore.PinUsage
package typealias Reference = LarderNormalize.Reference
package typealias StoredForm = LarderNormalize.StoredForm
package typealias TargetName = LarderStore.TargetName
package typealias Timestamp = LarderModel.Timestamp
package typealias WatchKind = LarderModel.WatchKind
