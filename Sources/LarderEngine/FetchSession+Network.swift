import LarderModel
import LarderStore
import LarderStrategy
import LarderWire

extension FetchSession {
    mutating func told(_ outcome: FlightOutcome, _ reader: StoreReader) async {
        if case .passed(let head) = outcome, let passing, (200..<300).contains(head.status) {
            guard case .showAnd = machine.networkAnswered(.current(Revision(0))) else { return }
            return await say(.passed(head, passing))
        }
        let view: NetworkView
        do throws(StoreError) {
            let look = NetworkLook(context: context, request: request, scope: scope, cached: cached)
            view = try await look.view(of: outcome, reader)
        } catch {
            view = .failed(.problem(Problem(error)))
        }
        switch view {
        case .current(let answer): await current(answer, outcome.occasion)
        case .deleted(let frame):
            let revision = frame.revision
            let isByModifier = frame.source == .modifier
            switch machine.networkAnswered(isByModifier ? .deletion(revision) : .deleted(revision))
            {
            case .deletedAnd(let sequel):
                await tellDeleted(frame, .cache())
                await conclude(sequel, .deleted, revision)
            case .refuseAsDeleted: await say(.refusedAsDeleted(status: frame.status))
            case .nothing, .showAnd, .unchangedAnd, .fail, .showCachedAndFail, .refuse: break
            }
        case .failed(let failure):
            if request.raw != nil, passing == nil, failure.isToPassOn { return passOn() }
            guard request.raw != nil, failure.isAnswer else { return await failed(failure) }
            guard case .refuseAsDeleted = machine.networkAnswered(.deleted(Revision(0))) else {
                return
            }
            await refuse(failure)
        case .gone: await gone()
        }
    }

    /// What the network has.
    private mutating func current(_ answer: ShownAnswer, _ occasion: FetchWord.Occasion) async {
        let revision = answer.entry.revision
        var body: RawAnswer.Body?
        // What the client has seen is not read for it again.
        let isShown: Bool
        if case .awaitingNetwork(let shown?) = machine.state {
            isShown = revision <= shown
        } else {
            isShown = false
        }
        if !isShown {
            body = try? await open(answer)
            guard body != nil else { return await gone() }
        }
        switch machine.networkAnswered(.current(revision)) {
        case .showAnd(let sequel):
            guard let body else { return }
            await show(answer, body, occasion)
            await conclude(sequel, .network, revision)
        case .unchangedAnd(let sequel):
            let revision = cached?.entry.revision ?? revision
            guard case .network(let status, _, _) = occasion else { return }
            await say(.unchanged(UnchangedFrame(revision: revision, status: status)))
            await conclude(sequel, .unchanged, revision)
        case .nothing, .deletedAnd, .fail, .showCachedAndFail, .refuse, .refuseAsDeleted: break
        }
    }

    /// What was replaced meanwhile was so by something newer; what was evicted can be asked for anew.
    private mutating func gone() async {
        if request.raw != nil, passing == nil { return passOn() }
        await failed(.problem(evicted))
    }

    private mutating func failed(_ failure: FetchFailure) async {
        switch machine.networkAnswered(.failed(failure)) {
        case .fail(let failure, let sequel): await fail(failure, sequel)
        case .showCachedAndFail(let failure, let sequel): await showCachedAndFail(failure, sequel)
        case .refuse(let failure): await refuse(failure)
        case .nothing, .showAnd, .unchangedAnd, .deletedAnd, .refuseAsDeleted: break
        }
    }
}
