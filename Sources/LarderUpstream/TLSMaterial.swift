package import LarderModel
import NIOSSL

/// An origin's `tls` settings, in the form that connections take.
package enum TLSMaterial {
    /// The fault of a file, if there is one.
    @Sendable
    package static func fault(in settings: TLSSettings) -> TLSFault? {
        do throws(TLSFault) {
            _ = try configuration(settings)
            return nil
        } catch {
            return error
        }
    }

    static func configuration(
        _ settings: TLSSettings
    ) throws(TLSFault) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if settings.caFile != nil {
            configuration.trustRoots = .certificates(try certificates(settings, .caFile))
        }
        guard let key = settings.clientKey else { return configuration }
        let chain = try certificates(settings, .clientCertificate)
        configuration.certificateChain = chain.map { .certificate($0) }
        configuration.privateKey = .privateKey(try privateKey(key))
        do {
            // Only a context shows whether a key belongs to its certificate.
            _ = try NIOSSLContext(configuration: configuration)
        } catch {
            throw TLSFault(.clientKey, "does not hold the key of client_cert")
        }
        return configuration
    }

    private static func certificates(
        _ settings: TLSSettings,
        _ key: TLSKey
    ) throws(TLSFault) -> [NIOSSLCertificate] {
        let found = (try? NIOSSLCertificate.fromPEMBytes(settings[key]?.bytes ?? [])) ?? []
        guard !found.isEmpty else { throw TLSFault(key, "holds no certificates in PEM") }
        return found
    }

    private static func privateKey(_ file: PEMFile) throws(TLSFault) -> NIOSSLPrivateKey {
        do {
            // Without the callback the library would ask for a passphrase on the terminal.
            return try NIOSSLPrivateKey(bytes: file.bytes, format: .pem) {
                (_: NIOSSLPassphraseSetter<[UInt8]>) in
                throw PassphraseNeeded()
            }
        } catch {
            throw TLSFault(.clientKey, "holds no private key in PEM without a passphrase")
        }
    }
}

private struct PassphraseNeeded: Error {}
