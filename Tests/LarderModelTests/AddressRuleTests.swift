import Glibc
import LarderModel
import Testing

@Suite("Which addresses an origin may not live at")
struct AddressRuleTests {
    @Test(
        "Addresses that are no globally reachable host are refused",
        arguments: [
            "0.0.0.0", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255",
            "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1", "172.31.255.255",
            "192.0.0.8", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.19.255.255",
            "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1",
            "255.255.255.255",
            "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.1.2.3",
            "::ffff:0:192.168.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254",
            "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "3fff::1",
            "3fff:fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "febf::1", "fec0::1", "ff02::1",
        ]
    )
    func refuses(_ text: String) throws {
        #expect(AddressRule.refuses(try bytes(text)))
    }

    @Test(
        "Globally reachable hosts are allowed, also next to a refused block",
        arguments: [
            "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0",
            "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "172.15.255.255",
            "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0",
            "198.17.255.255", "198.20.0.0", "203.0.112.255", "223.255.255.255",
            "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2606:4700::1111",
            "2001:4860:4860::8888", "2001:db7::1", "3fff:1000::1", "fbff::1", "fe00::1",
        ]
    )
    func allows(_ text: String) throws {
        #expect(!AddressRule.refuses(try bytes(text)))
    }

    @Test("An address of neither four nor sixteen bytes is refused", arguments: [0, 3, 5, 15, 17])
    func refusesOtherLengths(_ count: Int) {
        #expect(AddressRule.refuses([UInt8](repeating: 8, count: count)))
    }

    private func bytes(_ text: String) throws -> [UInt8] {
        let isV6 = text.contains(":")
        var bytes = [UInt8](repeating: 0, count: isV6 ? 16 : 4)
        try #require(inet_pton(isV6 ? AF_INET6 : AF_INET, text, &bytes) == 1)
        return bytes
    }
}
