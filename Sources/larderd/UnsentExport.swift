import Glibc
import LarderAPI
import LarderConfiguration
import LarderEngine
import LarderJSON
import LarderModel
import LarderStore

/// The file that `larderd --export-unsent` writes: a JSON object a line for each modifier that the
/// origin has not confirmed.
struct UnsentExport {
    let stateDirectory: String
    var path: String { stateDirectory + "/unsent.jsonl" }

    /// An error that leaves the earlier file as it was.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Replaces the file; where the queue is empty, there is none.
    ///
    /// The results are the numbers of modifiers that were written, and of those that cannot be read.
    func write() throws -> (written: Int, unreadable: Int) {
        let newPath = path + ".new"
        unlink(newPath)
        var file: Int32 = -1
        defer {
            if file >= 0 { close(file) }
            unlink(newPath)
        }
        var written = 0
        var failure: Failure?
        let unreadable = try UnsentModifiers.read(inStateDirectory: stateDirectory) { modifier in
            guard failure == nil else { return }
            do throws(Failure) {
                // Created only for a first modifier: most queues are empty.
                if file < 0 { file = try create(newPath) }
                guard writeAll(modifier.exportLine, to: file) else {
                    throw lastError("write \(newPath)")
                }
                written += 1
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard file >= 0 else {
            guard unlink(path) == 0 || errno == ENOENT else { throw lastError("remove \(path)") }
            return (0, unreadable)
        }
        guard fsync(file) == 0 else { throw lastError("write \(newPath)") }
        guard rename(newPath, path) == 0 else { throw lastError("rename \(newPath)") }
        return (written, unreadable)
    }

    /// Makes the file for the owner of the folder: root writes it for the service's user.
    private func create(_ newPath: String) throws(Failure) -> Int32 {
        let file = open(newPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw lastError("make \(newPath)") }
        var folder = stat()
        if geteuid() == 0, stat(stateDirectory, &folder) == 0 {
            // The file is readable for root in any case.
            _ = fchown(file, folder.st_uid, folder.st_gid)
        }
        return file
    }

    private func lastError(_ step: String) -> Failure {
        Failure(description: "cannot \(step): \(String(cString: strerror(errno)))")
    }
}

extension WholeModifier {
    /// The modifier as one line of JSON, with its whole body: `body` is JSON or text, `body_b64` has
    /// any other bytes.
    var exportLine: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("user", modifier.scope.uid)
            json.member("account", modifier.scope.account.text)
            json.member("id", modifier.id.text)
            json.member("origin", modifier.origin.text)
            json.member("state", modifier.state.rawValue)
            json.member("reason", modifier.reason?.rawValue)
            json.member("attempts", modifier.attempts)
            json.member("accepted_at", modifier.acceptedAt.rfc3339)
            json.member("request", object: writeRequest)
            json.name("changes")
            json.beginArray()
            for change in changes where !change.isImplied {
                json.object { json in
                    json.member("target", object: { $0.member("id", change.id.description) })
                    json.name("effect")
                    json.verbatim(change.effect)
                }
            }
            json.endArray()
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    private func writeRequest(_ json: inout JSONWriter) {
        json.member("method", modifier.method)
        json.member("url", modifier.url.text)
        json.member("idempotency_key", modifier.idempotencyKey)
        json.member("headers") { json in
            for field in modifier.headers.fields where !HeaderFields.holdsSecret(field.name) {
                json.member(field.name, field.value)
            }
        }
        json.member("content_type", modifier.mediaType)
        if String(validating: body, as: UTF8.self) != nil {
            json.name("body")
            json.verbatim(RawJSON(quotingBody: body, upTo: body.count).bytes)
        } else {
            json.member("body_b64", Base64.encode(body))
        }
    }
}
