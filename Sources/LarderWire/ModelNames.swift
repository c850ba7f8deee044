@_exported public import LarderAPI
package import LarderModel

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias DeletionRule = LarderModel.DeletionRule
package typealias EntryKind = LarderModel.EntryKind
package typealias FetchPolicy = LarderModel.FetchPolicy
package typealias ModifierChange = LarderModel.ModifierChange
package typealias ModifierReason = LarderModel.ModifierReason
package typealias ModifierState = LarderModel.ModifierState
package typealias NormalizedUsage = LarderModel.NormalizedUsage
package typealias OriginSource = LarderModel.OriginSource
package typealias OriginState = LarderModel.OriginState
package typealias PinState = LarderModel.PinState
package typealias Timestamp = LarderModel.Timestamp
package typealias WatchKind = LarderModel.WatchKind
