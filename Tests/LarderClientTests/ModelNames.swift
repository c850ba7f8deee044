import LarderModel

// Names that LarderAPI and our modules have too; here they are the model's.
typealias ModifierChange = LarderModel.ModifierChange
typealias Timestamp = LarderModel.Timestamp
