;; Ways to write a module, (; and a comment (; in a comment ;) ;) and modules that nobody may accept.
(module binary "\00asm" "\01\00\00\00")
(module $named binary
  "\00asm\01\00\00\00" "\01\05\01\60\00\01\7f" "\03\02\01\00" "\07\05\01\01f\00\00"
  ;; Numbers with more bytes than they need: a body of seven bytes, and 42.
  "\0a\0b\01" "\87\80\00" "\00" "\41\aa\80\00" "\0f" "\0b" "\00\06\04name\00")
(assert_return (invoke $named "f") (i32.const 42))
(module $"a name (with) \"signs\"" (func (export "f")))
(invoke $"a name (with) \"signs\"" "f")
(assert_malformed (module binary "\00asm\01\00\00") "unexpected end")
(module quote "(func (export \"\\u{e9}\") (result i32) (i32.const 3))")
(assert_return (invoke "é") (i32.const 3))
(module quote "(module (func (export \"x\") (result i32) " "(i32.const 4)))")
(assert_return (invoke "x") (i32.const 4))
(assert_malformed (module quote "(func (i32.const 0x))") "unknown operator")
(assert_malformed (module binary "") "unexpected end")
(assert_malformed (module binary "\00asm\0d\00\00\00") "unknown binary version")
(assert_malformed (module binary "\00asm\01\00\00\00\01\ff\ff\ff\ff\1f") "integer too large")
(assert_malformed (module binary "\00asm\01\00\00\00\01\80\80\80\80\80\00") "integer representation too long")
(assert_invalid (module (func (result i32))) "type mismatch")
(assert_invalid (module (func (local.get 0))) "unknown local")
(assert_invalid (module (func (drop (global.get 0)))) "unknown global")
(assert_invalid (module (func (drop (global.get 1))) (global i32 (i32.const 0))) "unknown global")
(assert_invalid (module (func (br 1))) "unknown label")
