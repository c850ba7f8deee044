import LarderEngine

/// What the connections of one event loop share, used on that loop only.
struct ServerLoop {
    let reader: LoopReader
    let worker: LoopWorker
    let ready: ReadyAnswers
    let meter: LoopMeter
    let spin: LoopSpin
    /// Answers that take longer than a turn of the loop; every connection has at most one.
    let jobs: WorkQueue
}
