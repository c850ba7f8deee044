import LarderModel

// Names that LarderAPI and our modules have too; here they are the model's.
typealias DeletionRule = LarderModel.DeletionRule
typealias EntityName = LarderModel.EntityName
typealias EntryKind = LarderModel.EntryKind
typealias FetchPolicy = LarderModel.FetchPolicy
typealias ModifierChange = LarderModel.ModifierChange
typealias ModifierReason = LarderModel.ModifierReason
typealias ModifierState = LarderModel.ModifierState
typealias NormalizedUsage = LarderModel.NormalizedUsage
typealias OriginScope = LarderModel.OriginScope
typealias OriginSource = LarderModel.OriginSource
typealias OriginState = LarderModel.OriginState
typealias PinState = LarderModel.PinState
typealias Timestamp = LarderModel.Timestamp
typealias WatchKind = LarderModel.WatchKind
