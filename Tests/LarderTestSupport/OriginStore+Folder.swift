package import LarderAPI
import LarderConfiguration
package import LarderEngine
package import LarderModel
import LarderUpstream
import LarderWire

extension OriginStore {
    /// As the daemon keeps origins, with a test's directory as its state directory.
    init(in directory: TemporaryDirectory) {
        let folder = OriginFolder(
            inStateDirectory: directory.path("state"),
            checkTLS: TLSMaterial.fault
        )
        self.init(read: folder.read, save: folder.save, remove: folder.remove)
    }
}

/// An origin to put under a name.
package struct OriginCommand {
    package var name: String
    package var settings: OriginDefinition

    package init(name: String, settings: OriginDefinition) {
        (self.name, self.settings) = (name, settings)
    }

    package init(_ origin: OriginSettings) {
        self.init(name: origin.name.text, settings: OriginDefinition(origin))
    }

    /// A name, and the keys of an origin as JSON.
    package init(_ name: String, json: String) throws {
        self.init(name: name, settings: try OriginDefinition(decoding: Array(json.utf8)))
    }
}

extension Origins {
    /// Adds an origin; one of the name is refused.
    package func add(_ command: OriginCommand) async throws -> OriginReport {
        let name = try OriginName(command: command.name)
        return try await put(name, command.settings, mayReplace: false).report
    }

    package func replace(
        _ command: OriginCommand
    ) async throws -> (report: OriginReport, isNew: Bool) {
        try await put(OriginName(command: command.name), command.settings)
    }
}
