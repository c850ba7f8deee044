import LarderJSON
import LarderModel
import LarderWire

extension Modifier {
    /// As it travels; refused where the daemon would refuse it.
    func command(_ account: AccountName) throws(LarderError) -> ModifierCommand {
        var changes: [ModifierCommand.Change] = []
        for change in self.changes {
            let target = try Self.target(change.target)
            changes.append(ModifierCommand.Change(target: target, effect: try change.effect.wire))
        }
        var command = ModifierCommand(changes: changes, request: try request(for: changes))
        command.account = account
        if let id { command.id = try Self.id(id) }
        if let lane {
            command.lane = try LarderError.checking(.badRequest) { () throws(ModelError) in
                try LaneName(lane)
            }
        }
        for id in dependsOn { command.dependsOn.append(try Self.id(id)) }
        command.hold = hold
        command.expires = expires
        command.attemptsMax = attemptsMax
        command.afterUnknown = unknownRule.map { rule in
            switch rule {
            case .auto: .auto
            case .resend: .resend
            case .hold: .hold
            }
        }
        return command
    }

    private func request(
        for changes: [ModifierCommand.Change]
    ) throws(LarderError) -> ModifierCommand.Request {
        if let request { return try request.wire }
        guard let derived = ModifierCommand.derivedRequest(for: changes) else {
            throw .problem(
                Problem(
                    .noRequest,
                    "the modifier has no request, and none follows from its changes"
                )
            )
        }
        return derived
    }

    static func id(_ text: String) throws(LarderError) -> ModifierID {
        try LarderError.checking(.badRequest) { () throws(ModelError) in try ModifierID(text) }
    }

    /// An id, in its one spelling where it is a URL.
    static func target(_ text: String) throws(LarderError) -> EntryID {
        try LarderError.checking(.badID) { () throws(ModelError) in
            guard text.contains("://"), let url = try? WebURL(text) else {
                return try EntryID(text)
            }
            return try EntryID(url)
        }
    }
}

extension Modifier.Lane {
    init(_ lane: LarderModel.Lane) {
        switch lane {
        case .id(let id):
            self = id.entity.map { .entity(EntityID($0)) } ?? .target(id.text)
        case .name(let name): self = .name(name.text)
        }
    }

    /// As it travels; refused where the daemon would refuse it.
    var wire: LarderModel.Lane {
        get throws(LarderError) {
            switch self {
            case .target(let id): .id(try Modifier.target(id))
            case .entity(let entity): .id(EntryID(try entity.name))
            case .name(let name):
                .name(
                    try LarderError.checking(.badRequest) { () throws(ModelError) in
                        try LaneName(name)
                    }
                )
            }
        }
    }
}
