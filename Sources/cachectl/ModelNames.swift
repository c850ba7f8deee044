import LarderModel

// LarderAPI has types of these names, for the wire; here they are the model's.
typealias Timestamp = LarderModel.Timestamp
