import Testing

@Suite("Reading Swift")
struct SourceTests {
    @Test(
        "Comments and literals are blank and the lines stay",
        arguments: [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */\nd */ e", "a             \n     e"),
            (#"a "b\"c" d"#, "a        d"),
            (#"a "b\(c("d"))" e"#, "a              e"),
            (##"a #"b"c"# d"##, "a         d"),
            ("a \"\"\"\n  b \"c\" // d\n  \"\"\" e", "a    \n            \n      e"),
            ("\"//\" a", "     a"),
        ]
    )
    func prose(text: String, code: String) {
        #expect(blankingProse(in: text) == code)
    }

    @Test("Functions are found with their lines, requirements without a body are not")
    func extents() {
        let text = """
            protocol P {
                func a()
                func b(c: (Int) -> Void)
                init()
            }
            struct S {
                package static func d(
                    e: () -> Void = { }
                ) throws(E) -> Int {
                    if x { y }
                    self.init()
                }
                init?(f: Int) { }
                subscript(g: Int) -> Int { 1 }
            }
            """
        let code = SourceFile(path: "Sources/A/B.swift", text: text).code
        #expect(
            functions(in: code) == [
                FunctionExtent(line: 7, lineCount: 6), FunctionExtent(line: 13, lineCount: 1),
                FunctionExtent(line: 14, lineCount: 1),
            ]
        )
    }

    @Test("Imports are found with all modifiers that can precede them")
    func imports() {
        let text = """
            import A
            @testable import B
            package import C.D
            // import E
            let x = "import F"
            """
        let file = SourceFile(path: "Sources/A/B.swift", text: text)
        #expect(file.imports.map(\.module) == ["A", "B", "C"])
        #expect(file.imports.map(\.line) == [1, 2, 3])
    }
}
