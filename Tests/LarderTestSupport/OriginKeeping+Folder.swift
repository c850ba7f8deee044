import LarderConfiguration
import LarderEngine
import LarderUpstream

extension OriginKeeping {
    /// As the daemon keeps origins, with a test's directory as its state directory.
    init(in directory: TemporaryDirectory) {
        let folder = OriginFolder(
            inStateDirectory: directory.path("state"),
            checkTLS: TLSMaterial.fault
        )
        self.init(read: folder.read, save: folder.save, remove: folder.remove)
    }
}
