@_exported public import LarderAPI
package import LarderModel

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias ModifierState = LarderModel.ModifierState
package typealias Timestamp = LarderModel.Timestamp
