import LarderJSON
import LarderModel
import LarderWire

extension Modifier {
    /// As it travels; refused where the daemon would refuse it.
    func command(_ account: AccountName, _ time: ClientTime) throws(LarderError) -> ModifierCommand
    {
        var changes: [ModifierCommand.Change] = []
        for change in self.changes {
            changes.append(try change.wire)
        }
        var command = ModifierCommand(changes: changes, request: try request(for: changes))
        command.account = account
        command.id = try Self.id(id ?? time.drawnName())
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
}

extension Modifier.Change {
    /// As it travels; refused where the daemon would refuse it.
    fileprivate var wire: ModifierCommand.Change {
        get throws(LarderError) {
            let (target, effect) = (try target.wire, try effect.wire)
            do throws(Problem) {
                try target.refuseMisfit(effect)
            } catch {
                throw .problem(error)
            }
            return ModifierCommand.Change(target: target, effect: effect)
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
            case .target(let id): .id(try Modifier.Target.id(id))
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
