import LarderModel

// Names that LarderAPI and our modules have too; here they are the model's.
typealias EntryKind = LarderModel.EntryKind
typealias FetchPolicy = LarderModel.FetchPolicy
typealias Timestamp = LarderModel.Timestamp
typealias WatchKind = LarderModel.WatchKind
