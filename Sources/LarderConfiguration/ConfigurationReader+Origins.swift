import Glibc
package import LarderAPI
import LarderJSON
package import LarderModel

extension ConfigurationReader {
    mutating func readOrigins(_ part: Item) {
        for item in items(of: part) {
            take(item, from: .file(file))
        }
    }

    /// Takes one origin in, unless its name or its address is another's.
    private mutating func take(_ item: Item, from source: OriginSource) {
        let name = collect(Setting(text: item.name, place: item.place).originName)
        let read = origin(item, named: name)
        if let other = originPlaces[item.name] {
            report(item.place, "origins.\(item.name) is already defined in \(other)")
            return
        }
        originPlaces[item.name] = item.place
        guard let (origin, place) = read else { return }
        if let other = addresses[origin.baseURL.baseAddress] {
            report(
                place,
                "origins.\(origin.name) has the base_url of origins.\(other.name) in "
                    + "\(other.place); an address belongs to one origin"
            )
            return
        }
        addresses[origin.baseURL.baseAddress] = (origin.name, place)
        configuration.knownOrigins.append(KnownOrigin(origin, from: source))
        configuration.knownOrigins.sort { $0.name < $1.name }
    }

    // MARK: Folders

    /// Reads the folder of origins next to the configuration file.
    mutating func readOrigins(inFolder folder: String) {
        for (name, file) in originFiles(in: folder) {
            readOrigin(name, of: file, from: .file(file))
        }
    }

    /// Reads the folder in the state directory, without what is invalid in it.
    ///
    /// The daemon must be able to start with files that it has written itself.
    mutating func readKeptOrigins(inFolder folder: String) {
        var before = self
        let files = originFiles(in: folder)
        leaveOut(since: &before)
        for (name, file) in files {
            readOrigin(name, of: file, from: .api)
            leaveOut(since: &before)
        }
    }

    /// Goes back to `before` if something was found to be wrong since, which becomes a warning.
    private mutating func leaveOut(since before: inout ConfigurationReader) {
        let new = findings.dropFirst(before.findings.count)
        guard !new.isEmpty else {
            before = self
            return
        }
        let warnings = new.map { "an origin is left out: \($0)" }
        self = before
        configuration.warnings += warnings
        before = self
    }

    /// The files of a folder with the names of their origins.
    private mutating func originFiles(in folder: String) -> [(name: String, file: String)] {
        let found: [String]
        do throws(FileFault) {
            found = try names(inFolder: folder)
        } catch {
            report(folder, error)
            return []
        }
        for name in found where name.hasSuffix(".yml") {
            report(.file("\(folder)/\(name)", line: 1, column: 1), "its name must end in .yaml")
        }
        let suffix = ".yaml"
        let files = found.filter { $0.hasSuffix(suffix) }
        if files.count > Limits.originFilesMax {
            report(
                .file(folder, line: 1, column: 1),
                "there are more than \(Limits.originFilesMax) origins in it"
            )
        }
        return files.prefix(Limits.originFilesMax).map {
            (String($0.dropLast(suffix.count)), "\(folder)/\($0)")
        }
    }

    private mutating func readOrigin(_ name: String, of file: String, from source: OriginSource) {
        do throws(FileFault) {
            // The file may have been removed since the folder was read.
            guard let text = try configurationText(of: file) else { return }
            readOrigin(name, text: text, file: file, from: source)
        } catch {
            report(file, error)
        }
    }

    /// Reads a text that holds the settings of one origin.
    mutating func readOrigin(
        _ name: String,
        text: String,
        file: String,
        from source: OriginSource
    ) {
        guard let root = parse(text, of: file) else { return }
        readOrigin(name, root, from: source)
    }

    mutating func readOrigin(_ name: String, _ root: YAMLNode, from source: OriginSource) {
        let place = ConfigurationPlace.file(file, line: 1, column: 1)
        take(Item(name: name, path: "origins.\(name)", place: place, value: root), from: source)
    }

    private mutating func report(_ file: String, _ fault: FileFault) {
        report(.file(file, line: 1, column: 1), "it cannot be read: \(fault.reason)")
    }
}

extension ConfigurationReader {
    /// Reads the forms of documents that are not cached, by their paths.
    mutating func emptyForms(_ part: Item) -> [EmptyForm] {
        var forms: [EmptyForm] = []
        for item in items(of: part) {
            guard item.name.hasPrefix("/") else {
                report(item.place, "\(item.path): a path begins with '/', such as /todos")
                continue
            }
            guard forms.count < Limits.emptyFormsMax else {
                report(item.place, "at most \(Limits.emptyFormsMax) forms are taken")
                break
            }
            let form = JSONValue(item.value)
            guard form.members != nil || form.elements != nil else {
                report(place(of: item.value), "\(item.path): a form is an object or a list")
                continue
            }
            let text = String(decoding: form.bytes, as: UTF8.self)
            guard text.utf8.count <= Limits.emptyFormBytesMax else {
                let most = Limits.emptyFormBytesMax
                report(place(of: item.value), "\(item.path): a form has at most \(most) bytes")
                continue
            }
            forms.append(EmptyForm(path: item.name, form: text))
        }
        return forms
    }
}

extension JSONValue {
    /// A node as the core schema of YAML reads it: an unquoted word may be null, a truth or a number.
    fileprivate init(_ node: YAMLNode) {
        switch node.kind {
        case .sequence(let nodes): self = .array(nodes.map(JSONValue.init))
        case .mapping(let pairs):
            self = .object(
                pairs.map { JSONMember(name: $0.key.text ?? "", value: JSONValue($0.value)) }
            )
        case .scalar(let scalar):
            if scalar.isNull {
                self = .null
            } else if scalar.isPlain, let value = try? JSONValue(parsing: Array(scalar.text.utf8)) {
                self = value
            } else {
                self = .string(scalar.text)
            }
        }
    }
}

/// The folder of the state directory for origins that were added while the daemon ran.
///
/// Each has a file, which ``Configuration`` reads at the next start.
package struct OriginFolder: Sendable {
    package let path: String
    private let checkTLS: TLSCheck

    package init(inStateDirectory directory: String, checkTLS: @escaping TLSCheck) {
        path = "\(directory)/\(Configuration.originsFolder)"
        self.checkTLS = checkTLS
    }

    /// Checks the keys of an origin by the rules of the configuration file.
    @Sendable
    package func read(
        _ name: OriginName,
        _ definition: OriginDefinition
    ) throws(Problem) -> OriginSettings {
        guard !name.text.hasPrefix(".") else {
            throw Problem(.badRequest, "the name '\(name)' begins with a dot, as hidden files do")
        }
        var reader = ConfigurationReader(checkTLS: checkTLS)
        reader.readOrigin(name.text, YAMLNode(definition), from: .api)
        if let first = reader.findings.first {
            throw Problem(
                first.isUnknownKey ? .unknownMember : .badRequest,
                reader.findings.map(\.words).joined(separator: "; ")
            )
        }
        guard let origin = reader.configuration.origins.first else {
            throw Problem(.badRequest, "origins.\(name) needs a base_url")
        }
        try checkFile(of: origin)
        return origin
    }

    /// Refuses what its file could not give back.
    private func checkFile(of origin: OriginSettings) throws(Problem) {
        var origin = origin
        // The TLS files have been read, and may have changed since.
        origin.tls = TLSSettings()
        let text = text(of: origin)
        guard text.utf8.count <= Limits.configurationFileBytesMax else {
            throw Problem(
                .badRequest,
                "origins.\(origin.name): as a file it would have \(text.utf8.count) bytes, at most "
                    + "\(Limits.configurationFileBytesMax) are taken"
            )
        }
        var reader = ConfigurationReader()
        reader.readOrigin(origin.name.text, text: text, file: "", from: .api)
        guard reader.configuration.origins == [origin] else {
            throw Problem(
                .badRequest,
                "origins.\(origin.name): a character in it cannot be kept in a file"
            )
        }
    }

    private func text(of origin: OriginSettings) -> String {
        origin.yamlLines(coversSecrets: false).map { $0 + "\n" }.joined()
    }

    /// Writes an origin's file, in place of one that is there; synced when it returns.
    @Sendable
    package func save(_ origin: OriginSettings) throws(Problem) {
        let (target, draft) = (file(of: origin.name), "\(path)/.\(origin.name).draft")
        try attempt("make the folder") { mkdir(path, 0o700) == 0 || errno == EEXIST }
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try attempt("make a file in it") { descriptor >= 0 }
        var isKept = false
        defer {
            close(descriptor)
            if !isKept { unlink(draft) }
        }
        let bytes = Array(text(of: origin).utf8)
        try attempt("write a file in it") { writeAll(bytes, to: descriptor) }
        try attempt("sync a file in it") { fsync(descriptor) == 0 }
        try attempt("rename a file in it") { rename(draft, target) == 0 }
        isKept = true
        try syncFolder()
    }

    /// Takes an origin's file away; synced when it returns.
    @Sendable
    package func remove(_ name: OriginName) throws(Problem) {
        try attempt("remove a file of it") { unlink(file(of: name)) == 0 || errno == ENOENT }
        try syncFolder()
    }

    private func file(of name: OriginName) -> String { "\(path)/\(name).yaml" }

    private func syncFolder() throws(Problem) {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // No folder is as good as an empty one.
        if descriptor < 0, errno == ENOENT { return }
        try attempt("open it") { descriptor >= 0 }
        defer { close(descriptor) }
        try attempt("sync it") { fsync(descriptor) == 0 }
    }

    /// Does one step, and says what went wrong by `errno`.
    private func attempt(_ what: String, _ step: () -> Bool) throws(Problem) {
        guard !step() else { return }
        let code = errno
        let isFull = code == ENOSPC || code == EDQUOT
        throw Problem(
            .storage,
            "\(path): cannot \(what): \(String(cString: strerror(code)))",
            status: isFull ? 507 : nil
        )
    }
}
