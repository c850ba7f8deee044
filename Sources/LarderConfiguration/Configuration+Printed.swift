import LarderModel

extension Configuration {
    /// The whole configuration as YAML that reads back to the same value, but for the values of
    /// origins' headers and the user of a proxy: they may be secrets and are printed as `***`.
    package func printed() -> String {
        var lines: [String] = []
        for section in ConfigurationSection.allCases where section != .origins {
            lines.append("\(section.rawValue):")
            for key in ConfigurationKey.keys(of: section) {
                let text = text(of: key)
                lines.append("  \(key.name): \(key.isTruth ? text : yamlText(text))")
            }
        }
        lines.append(origins.isEmpty ? "origins: {}" : "origins:")
        for origin in origins { lines += origin.printedLines }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension OriginSettings {
    fileprivate var printedLines: [String] {
        ["  \(yamlText(name.text)):"] + yamlLines(coversSecrets: true).map { "    " + $0 }
    }

    /// What stands under the origin's name, as YAML that reads back to the same value unless its
    /// secrets are covered.
    package func yamlLines(coversSecrets: Bool) -> [String] {
        OriginKey.allCases.flatMap { key in
            switch key {
            case .baseURL: ["base_url: \(yamlText(baseURL.text))"]
            case .allowPrivate: ["allow_private: \(allowPrivate)"]
            case .redirectHosts:
                ["redirect_hosts: [\(redirectHosts.map(listed).joined(separator: ", "))]"]
            case .scope: ["scope: \(scope.rawValue)"]
            case .proxy: ["proxy: \(proxyText(coversSecrets) ?? "null")"]
            case .tls:
                ["tls:"]
                    + TLSKey.allCases.map { key in
                        "  \(key.rawValue): \(tls[key].map { yamlText($0.path) } ?? "null")"
                    }
            case .headers:
                [headers.fields.isEmpty ? "headers: {}" : "headers:"]
                    + headers.fields.map { field in
                        let value = coversSecrets ? "\"***\"" : quoted(field.value)
                        return "  \(yamlText(field.name)): \(value)"
                    }
            case .fetch:
                ["fetch:"]
                    + FetchKey.allCases.map { "  \($0.rawValue): \(fetch.text(of: $0))" }
            case .normalize:
                normalize.map { ["normalize:"] + $0.yamlLines.map { "  " + $0 } }
                    ?? ["normalize: null"]
            case .modifiers: ["modifiers:"] + modifiers.yamlLines.map { "  " + $0 }
            }
        }
    }

    private func listed(_ host: HostPort) -> String { quoted(host.description) }

    private func proxyText(_ coversSecrets: Bool) -> String? {
        proxy.map { quoted(coversSecrets ? $0.maskedText : $0.text) }
    }
}

extension ModifierRules {
    fileprivate var yamlLines: [String] {
        ModifierRuleKey.allCases.flatMap { key in
            switch key {
            case .respondAsync: ["respond_async: \(respondsAsync)"]
            case .idempotency: ["idempotency:"] + idempotency.yamlLines.map { "  " + $0 }
            case .answer: ["answer: \(answer.rawValue)"]
            case .afterUnknown: ["after_unknown: \(afterUnknown.rawValue)"]
            case .acceptedLimit: ["accepted_limit: \(acceptedLimit.unitText)"]
            case .stalledAfter: ["stalled_after: \(stalledAfter)"]
            case .refusedIf: ["refused_if: [\(refusedIf.map(\.yamlText).joined(separator: ", "))]"]
            }
        }
    }
}

extension RefusalRule {
    fileprivate var yamlText: String {
        let value = equals.map { ", equals: \(quoted($0))" } ?? ""
        return "{pointer: \(quoted(pointer))\(value)}"
    }
}

extension IdempotencyRule {
    fileprivate var yamlLines: [String] {
        IdempotencyRuleKey.allCases.map { key in
            switch key {
            case .header: "header: \(yamlText(header))"
            case .honoured: "honoured: \(isHonoured)"
            }
        }
    }
}
