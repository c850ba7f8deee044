import LarderModel

// Names that LarderAPI and our modules have too; here they are the model's.
typealias FetchPolicy = LarderModel.FetchPolicy
typealias ModifierState = LarderModel.ModifierState
typealias Timestamp = LarderModel.Timestamp
