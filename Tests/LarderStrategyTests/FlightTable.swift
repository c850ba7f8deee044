import LarderModel
import LarderStrategy

/// Every event in every state of a flight: what is answered, and where it leads.
///
/// Written out by hand from the contract, not computed from the machine.
struct FlightTable: Sendable {
    struct Row: Sendable {
        let place: FlightPlace
        let event: FlightEvent
        let reaction: FlightReaction
        let next: FlightMachine.State
    }

    private let script: FlightScript
    private let pause = FlightScript.pause
    private let refused = FlightFailure.redirectRefused(host: "b.example")
    private let unasked = FlightFailure.badAnswer("304 to a plain request")
    private let part = FlightFailure.badAnswer("206 to a request without a range")
    private let broken = FlightFailure.undecodable("x")
    private let quoting = FlightMachine.State.receiving(.refusal(status: 500))
    private let portal = FlightFailure.captive(host: "a.example")

    init(_ script: FlightScript) {
        self.script = script
    }

    var rows: [Row] {
        idle + asking + askingConditional + pausing + receiving + receivingRefusal + refreshing
            + storing + finished + askingToPass + passing
    }

    private var plain: FlightMachine.Attempt { script.attempt(script.home, conditional: false) }

    /// A row; without a state the machine stays where it is.
    private func row(
        _ place: FlightPlace,
        _ event: FlightEvent,
        _ reaction: FlightReaction,
        _ next: FlightMachine.State? = nil
    ) -> Row {
        Row(place: place, event: event, reaction: reaction, next: next ?? script.state(place))
    }
}

extension FlightTable {
    private var idle: [Row] {
        [
            row(.idle, .ok, .head(.nothing)),
            row(.idle, .notModified, .head(.nothing)),
            row(.idle, .redirect, .head(.nothing)),
            row(.idle, .foreignRedirect, .head(.nothing)),
            row(.idle, .notFound, .head(.nothing)),
            row(.idle, .unavailable, .head(.nothing)),
            row(.idle, .serverError, .head(.nothing)),
            row(.idle, .portal, .head(.nothing)),
            row(.idle, .connectionFailed, .failure(.nothing)),
            row(.idle, .undecodable, .failure(.nothing)),
            row(.idle, .failedForGood, .failure(.nothing)),
            row(.idle, .pauseEnded, .attempt(nil)),
            row(.idle, .bodyArrived, .body(.nothing)),
            row(.idle, .refreshed, .refresh(.nothing)),
            row(.idle, .refreshedGone, .refresh(.nothing)),
            row(.idle, .stored, .told(false)),
            row(.idle, .overtaken, .overtake(.nothing)),
            row(.idle, .large, .head(.nothing)),
            row(.idle, .part, .head(.nothing)),
            row(.idle, .passed, .told(false)),
            row(.idle, .gaveUp, .told(true), .finished),
        ]
    }

    private var asking: [Row] {
        let here = script.attempt(script.home, conditional: false)
        let there = script.attempt(script.moved, conditional: false)
        return [
            row(.asking, .ok, .head(.receive), .receiving(.answer)),
            row(.asking, .notModified, .head(.giveUp(unasked)), .finished),
            row(.asking, .redirect, .head(.ask(there)), .asking(there)),
            row(.asking, .foreignRedirect, .head(.giveUp(refused)), .finished),
            row(.asking, .notFound, .head(.writeTombstone(status: 404)), .storing),
            row(.asking, .unavailable, .head(.pause(pause)), .pausing(here)),
            row(.asking, .serverError, .head(.quote(status: 500)), quoting),
            row(.asking, .portal, .head(.giveUp(portal)), .finished),
            row(.asking, .connectionFailed, .failure(.pause(pause)), .pausing(here)),
            row(.asking, .undecodable, .failure(.giveUp(broken)), .finished),
            row(.asking, .failedForGood, .failure(.giveUp(.tooLarge)), .finished),
            row(.asking, .pauseEnded, .attempt(nil)),
            row(.asking, .bodyArrived, .body(.nothing)),
            row(.asking, .refreshed, .refresh(.nothing)),
            row(.asking, .refreshedGone, .refresh(.nothing)),
            row(.asking, .stored, .told(false)),
            row(.asking, .overtaken, .overtake(.nothing)),
            row(.asking, .large, .head(.giveUp(.tooLarge)), .finished),
            row(.asking, .part, .head(.giveUp(part)), .finished),
            row(.asking, .passed, .told(false)),
            row(.asking, .gaveUp, .told(true), .finished),
        ]
    }

    private var askingConditional: [Row] {
        let here = script.attempt(script.home, conditional: true)
        let there = script.attempt(script.moved, conditional: false)
        return [
            row(.askingConditional, .ok, .head(.receive), .receiving(.answer)),
            row(.askingConditional, .notModified, .head(.refresh), .refreshing(here)),
            row(.askingConditional, .redirect, .head(.ask(there)), .asking(there)),
            row(.askingConditional, .foreignRedirect, .head(.giveUp(refused)), .finished),
            row(.askingConditional, .notFound, .head(.writeTombstone(status: 404)), .storing),
            row(.askingConditional, .unavailable, .head(.pause(pause)), .pausing(here)),
            row(.askingConditional, .serverError, .head(.quote(status: 500)), quoting),
            row(.askingConditional, .portal, .head(.giveUp(portal)), .finished),
            row(.askingConditional, .connectionFailed, .failure(.pause(pause)), .pausing(here)),
            row(.askingConditional, .undecodable, .failure(.giveUp(broken)), .finished),
            row(.askingConditional, .failedForGood, .failure(.giveUp(.tooLarge)), .finished),
            row(.askingConditional, .pauseEnded, .attempt(nil)),
            row(.askingConditional, .bodyArrived, .body(.nothing)),
            row(.askingConditional, .refreshed, .refresh(.nothing)),
            row(.askingConditional, .refreshedGone, .refresh(.nothing)),
            row(.askingConditional, .stored, .told(false)),
            row(.askingConditional, .overtaken, .overtake(.nothing)),
            row(.askingConditional, .large, .head(.giveUp(.tooLarge)), .finished),
            row(.askingConditional, .part, .head(.giveUp(part)), .finished),
            row(.askingConditional, .passed, .told(false)),
            row(.askingConditional, .gaveUp, .told(true), .finished),
        ]
    }

    private var pausing: [Row] {
        [
            row(.pausing, .ok, .head(.nothing)),
            row(.pausing, .notModified, .head(.nothing)),
            row(.pausing, .redirect, .head(.nothing)),
            row(.pausing, .foreignRedirect, .head(.nothing)),
            row(.pausing, .notFound, .head(.nothing)),
            row(.pausing, .unavailable, .head(.nothing)),
            row(.pausing, .serverError, .head(.nothing)),
            row(.pausing, .portal, .head(.nothing)),
            row(.pausing, .connectionFailed, .failure(.nothing)),
            row(.pausing, .undecodable, .failure(.nothing)),
            row(.pausing, .failedForGood, .failure(.nothing)),
            row(.pausing, .pauseEnded, .attempt(plain), .asking(plain)),
            row(.pausing, .bodyArrived, .body(.nothing)),
            row(.pausing, .refreshed, .refresh(.nothing)),
            row(.pausing, .refreshedGone, .refresh(.nothing)),
            row(.pausing, .stored, .told(false)),
            row(.pausing, .overtaken, .overtake(.nothing)),
            row(.pausing, .large, .head(.nothing)),
            row(.pausing, .part, .head(.nothing)),
            row(.pausing, .passed, .told(false)),
            row(.pausing, .gaveUp, .told(true), .finished),
        ]
    }

    private var receiving: [Row] {
        [
            row(.receiving, .ok, .head(.nothing)),
            row(.receiving, .notModified, .head(.nothing)),
            row(.receiving, .redirect, .head(.nothing)),
            row(.receiving, .foreignRedirect, .head(.nothing)),
            row(.receiving, .notFound, .head(.nothing)),
            row(.receiving, .unavailable, .head(.nothing)),
            row(.receiving, .serverError, .head(.nothing)),
            row(.receiving, .portal, .head(.nothing)),
            row(.receiving, .connectionFailed, .failure(.pause(pause)), .pausing(plain)),
            row(.receiving, .undecodable, .failure(.ask(plain)), .asking(plain)),
            row(.receiving, .failedForGood, .failure(.giveUp(.tooLarge)), .finished),
            row(.receiving, .pauseEnded, .attempt(nil)),
            row(.receiving, .bodyArrived, .body(.store), .storing),
            row(.receiving, .refreshed, .refresh(.nothing)),
            row(.receiving, .refreshedGone, .refresh(.nothing)),
            row(.receiving, .stored, .told(false)),
            row(.receiving, .overtaken, .overtake(.nothing)),
            row(.receiving, .large, .head(.nothing)),
            row(.receiving, .part, .head(.nothing)),
            row(.receiving, .passed, .told(false)),
            row(.receiving, .gaveUp, .told(true), .finished),
        ]
    }

    private var receivingRefusal: [Row] {
        [
            row(.receivingRefusal, .ok, .head(.nothing)),
            row(.receivingRefusal, .notModified, .head(.nothing)),
            row(.receivingRefusal, .redirect, .head(.nothing)),
            row(.receivingRefusal, .foreignRedirect, .head(.nothing)),
            row(.receivingRefusal, .notFound, .head(.nothing)),
            row(.receivingRefusal, .unavailable, .head(.nothing)),
            row(.receivingRefusal, .serverError, .head(.nothing)),
            row(.receivingRefusal, .portal, .head(.nothing)),
            row(.receivingRefusal, .connectionFailed, .failure(.pause(pause)), .pausing(plain)),
            row(.receivingRefusal, .undecodable, .failure(.ask(plain)), .asking(plain)),
            row(.receivingRefusal, .failedForGood, .failure(.giveUp(.tooLarge)), .finished),
            row(.receivingRefusal, .pauseEnded, .attempt(nil)),
            row(.receivingRefusal, .bodyArrived, .body(.report(status: 500)), .finished),
            row(.receivingRefusal, .refreshed, .refresh(.nothing)),
            row(.receivingRefusal, .refreshedGone, .refresh(.nothing)),
            row(.receivingRefusal, .stored, .told(false)),
            row(.receivingRefusal, .overtaken, .overtake(.nothing)),
            row(.receivingRefusal, .large, .head(.nothing)),
            row(.receivingRefusal, .part, .head(.nothing)),
            row(.receivingRefusal, .passed, .told(false)),
            row(.receivingRefusal, .gaveUp, .told(true), .finished),
        ]
    }

    private var refreshing: [Row] {
        [
            row(.refreshing, .ok, .head(.nothing)),
            row(.refreshing, .notModified, .head(.nothing)),
            row(.refreshing, .redirect, .head(.nothing)),
            row(.refreshing, .foreignRedirect, .head(.nothing)),
            row(.refreshing, .notFound, .head(.nothing)),
            row(.refreshing, .unavailable, .head(.nothing)),
            row(.refreshing, .serverError, .head(.nothing)),
            row(.refreshing, .portal, .head(.nothing)),
            row(.refreshing, .connectionFailed, .failure(.nothing)),
            row(.refreshing, .undecodable, .failure(.nothing)),
            row(.refreshing, .failedForGood, .failure(.nothing)),
            row(.refreshing, .pauseEnded, .attempt(nil)),
            row(.refreshing, .bodyArrived, .body(.nothing)),
            row(.refreshing, .refreshed, .refresh(.tell), .finished),
            row(.refreshing, .refreshedGone, .refresh(.ask(plain)), .asking(plain)),
            row(.refreshing, .stored, .told(false)),
            row(.refreshing, .overtaken, .overtake(.nothing)),
            row(.refreshing, .large, .head(.nothing)),
            row(.refreshing, .part, .head(.nothing)),
            row(.refreshing, .passed, .told(false)),
            row(.refreshing, .gaveUp, .told(true), .finished),
        ]
    }

    private var storing: [Row] {
        [
            row(.storing, .ok, .head(.nothing)),
            row(.storing, .notModified, .head(.nothing)),
            row(.storing, .redirect, .head(.nothing)),
            row(.storing, .foreignRedirect, .head(.nothing)),
            row(.storing, .notFound, .head(.nothing)),
            row(.storing, .unavailable, .head(.nothing)),
            row(.storing, .serverError, .head(.nothing)),
            row(.storing, .portal, .head(.nothing)),
            row(.storing, .connectionFailed, .failure(.nothing)),
            row(.storing, .undecodable, .failure(.nothing)),
            row(.storing, .failedForGood, .failure(.nothing)),
            row(.storing, .pauseEnded, .attempt(nil)),
            row(.storing, .bodyArrived, .body(.nothing)),
            row(.storing, .refreshed, .refresh(.nothing)),
            row(.storing, .refreshedGone, .refresh(.nothing)),
            row(.storing, .stored, .told(true), .finished),
            row(.storing, .overtaken, .overtake(.ask(plain)), .asking(plain)),
            row(.storing, .large, .head(.nothing)),
            row(.storing, .part, .head(.nothing)),
            row(.storing, .passed, .told(false)),
            row(.storing, .gaveUp, .told(true), .finished),
        ]
    }

    private var finished: [Row] {
        [
            row(.finished, .ok, .head(.nothing)),
            row(.finished, .notModified, .head(.nothing)),
            row(.finished, .redirect, .head(.nothing)),
            row(.finished, .foreignRedirect, .head(.nothing)),
            row(.finished, .notFound, .head(.nothing)),
            row(.finished, .unavailable, .head(.nothing)),
            row(.finished, .serverError, .head(.nothing)),
            row(.finished, .portal, .head(.nothing)),
            row(.finished, .connectionFailed, .failure(.nothing)),
            row(.finished, .undecodable, .failure(.nothing)),
            row(.finished, .failedForGood, .failure(.nothing)),
            row(.finished, .pauseEnded, .attempt(nil)),
            row(.finished, .bodyArrived, .body(.nothing)),
            row(.finished, .refreshed, .refresh(.nothing)),
            row(.finished, .refreshedGone, .refresh(.nothing)),
            row(.finished, .stored, .told(false)),
            row(.finished, .overtaken, .overtake(.nothing)),
            row(.finished, .large, .head(.nothing)),
            row(.finished, .part, .head(.nothing)),
            row(.finished, .passed, .told(false)),
            row(.finished, .gaveUp, .told(false)),
        ]
    }

    private var askingToPass: [Row] {
        let there = script.attempt(script.moved, conditional: false)
        return [
            row(.askingToPass, .ok, .head(.pass), .passing),
            row(.askingToPass, .notModified, .head(.giveUp(unasked)), .finished),
            row(.askingToPass, .redirect, .head(.ask(there)), .asking(there)),
            row(.askingToPass, .foreignRedirect, .head(.giveUp(refused)), .finished),
            row(.askingToPass, .notFound, .head(.writeTombstone(status: 404)), .storing),
            row(.askingToPass, .unavailable, .head(.pause(pause)), .pausing(plain)),
            row(.askingToPass, .serverError, .head(.pass), .passing),
            row(.askingToPass, .portal, .head(.giveUp(portal)), .finished),
            row(.askingToPass, .connectionFailed, .failure(.pause(pause)), .pausing(plain)),
            row(.askingToPass, .undecodable, .failure(.giveUp(broken)), .finished),
            row(.askingToPass, .failedForGood, .failure(.giveUp(.tooLarge)), .finished),
            row(.askingToPass, .pauseEnded, .attempt(nil)),
            row(.askingToPass, .bodyArrived, .body(.nothing)),
            row(.askingToPass, .refreshed, .refresh(.nothing)),
            row(.askingToPass, .refreshedGone, .refresh(.nothing)),
            row(.askingToPass, .stored, .told(false)),
            row(.askingToPass, .overtaken, .overtake(.nothing)),
            row(.askingToPass, .large, .head(.pass), .passing),
            row(.askingToPass, .part, .head(.giveUp(part)), .finished),
            row(.askingToPass, .passed, .told(false)),
            row(.askingToPass, .gaveUp, .told(true), .finished),
        ]
    }

    private var passing: [Row] {
        [
            row(.passing, .ok, .head(.nothing)),
            row(.passing, .notModified, .head(.nothing)),
            row(.passing, .redirect, .head(.nothing)),
            row(.passing, .foreignRedirect, .head(.nothing)),
            row(.passing, .notFound, .head(.nothing)),
            row(.passing, .unavailable, .head(.nothing)),
            row(.passing, .serverError, .head(.nothing)),
            row(.passing, .portal, .head(.nothing)),
            row(.passing, .connectionFailed, .failure(.giveUp(.unreachable("refused"))), .finished),
            row(.passing, .undecodable, .failure(.giveUp(broken)), .finished),
            row(.passing, .failedForGood, .failure(.giveUp(.tooLarge)), .finished),
            row(.passing, .pauseEnded, .attempt(nil)),
            row(.passing, .bodyArrived, .body(.nothing)),
            row(.passing, .refreshed, .refresh(.nothing)),
            row(.passing, .refreshedGone, .refresh(.nothing)),
            row(.passing, .stored, .told(false)),
            row(.passing, .overtaken, .overtake(.nothing)),
            row(.passing, .large, .head(.nothing)),
            row(.passing, .part, .head(.nothing)),
            row(.passing, .passed, .told(true), .finished),
            row(.passing, .gaveUp, .told(true), .finished),
        ]
    }
}
