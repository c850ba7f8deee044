/// The views that clients must get, computed from the order of the steps without files.
struct ResidencyTruth: Hashable {
    /// Without revisions.
    var rows = ModelPair(ModelRow())
    var modifiers = ModelPair(ModelModifier())
    var pins: ModelKeys = []
    /// The `said` of the last own row that the first user could see.
    var front: ModelStep = 0
    /// Answers whose requests started earlier are late, by id.
    var fences = ModelPair<ModelStep>(0)
    var log: UInt64 = 0

    func visibleKey(_ user: Int, _ id: Int, _ world: ResidencyWorld) -> Int? {
        Self.visibleKey(user, id, world, front: front) { rows[$0] }
    }

    func view(_ user: Int, _ id: Int, _ world: ResidencyWorld) -> ModelContent {
        let base = visibleKey(user, id, world).map { rows[$0] } ?? ModelRow()
        return Self.view(of: base, user, id, modifiers, world).content
    }

    func moment(_ world: ResidencyWorld) -> ResidencyMoment {
        var moment = ResidencyMoment(views: ModelPair(ModelPair(.absent)), log: log)
        for user in 0..<world.users {
            for id in 0..<world.ids { moment.views[user][id] = view(user, id, world) }
        }
        return moment
    }

    /// The rows that must survive a loss of `cache.db`.
    func durable(_ world: ResidencyWorld) -> ModelKeys {
        var keys = world.pinsBoth && pins != [] ? .both : pins
        for modifier in 0..<2 where modifiers[modifier].isUnsettled {
            guard world.isShared else {
                keys.formUnion(world.targets(modifier))
                continue
            }
            keys.insert(.first)
            if world.user(modifier) == 0 { keys.insert(.second) }
        }
        if world.isUnit, keys != [] { keys = .both }
        if keys.has(0), world.refers(rows[0].content) { keys.insert(.second) }
        return keys
    }

    // MARK: The definition of a view, for files and truth

    /// The key whose row a user sees under an id: the own one, else the shared one unless it is hidden.
    static func visibleKey(
        _ user: Int,
        _ id: Int,
        _ world: ResidencyWorld,
        front: ModelStep,
        _ row: (Int) -> ModelRow
    ) -> Int? {
        if let own = world.ownKey(user, id), !row(own).isAbsent { return own }
        guard let shared = world.sharedKey, !row(shared).isAbsent else { return nil }
        return user == 1 || row(shared).said > front ? shared : nil
    }

    static func view(
        of base: ModelRow,
        _ user: Int,
        _ id: Int,
        _ modifiers: ModelPair<ModelModifier>,
        _ world: ResidencyWorld,
        isForAll: Bool = false
    ) -> ModelRow {
        var view = base
        for modifier in 0..<2 where modifiers[modifier].isUnsettled {
            let isOwn = world.user(modifier) == user || isForAll
            guard world.targets(modifier).has(id), isOwn else { continue }
            view.content = view.content.adding(modifier)
            view.rev = max(view.rev, modifiers[modifier].accepted)
        }
        return view
    }
}

/// The views by user and id between two published steps.
struct ResidencyMoment: Hashable {
    var views: ModelPair<ModelPair<ModelContent>>
    var log: UInt64
}
