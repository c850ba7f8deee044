/// Why systemd's settings cannot be used, or why a notice could not be sent.
package enum SystemdError: Error, Equatable, Sendable {
    /// A variable of the environment is not as systemd sets it.
    case badVariable(name: String, value: String)
    /// A passed socket has a name that the daemon does not use.
    case unknownSocket(name: String)
    /// No passed socket has the name, or more than one socket was passed.
    case notOneSocket(name: String, count: Int)
    case badSocket(descriptor: Int32, reason: String)
    case cannotNotify(address: String, reason: String)

    package var message: String {
        switch self {
        case .badVariable(let name, let value):
            "\(name) is '\(value)', which systemd does not set"
        case .unknownSocket(let name):
            "a socket named '\(name)' was passed, which has no use; FileDescriptorName=api names one"
        case .notOneSocket(let name, let count):
            "\(count) sockets named '\(name)' were passed, one is needed"
        case .badSocket(let descriptor, let reason):
            "the descriptor \(descriptor) that was passed is \(reason)"
        case .cannotNotify(let address, let reason):
            "systemd cannot be told over '\(address)': \(reason)"
        }
    }
}
