import LarderModel

// LarderAPI has types of these names, for the wire; here they are the model's.
typealias EntityName = LarderModel.EntityName
typealias Timestamp = LarderModel.Timestamp
