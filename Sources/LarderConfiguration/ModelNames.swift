package import LarderModel

// LarderAPI has types of these names, for the wire; here they are the model's.
package typealias DeletionRule = LarderModel.DeletionRule
package typealias OriginSource = LarderModel.OriginSource
