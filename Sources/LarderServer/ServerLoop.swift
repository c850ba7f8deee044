/// What the connections of one event loop share, used on that loop only.
struct ServerLoop {
    let reader: LoopReader
    let worker: LoopWorker
    let meter: LoopMeter
}
