;; Exceptions as compilers still write them: try, catch, rethrow and delegate.
(module
  (tag $number (param i32))
  (tag $other)
  (func $throw (param i32) (throw $number (local.get 0)))
  (func (export "catch") (param i32) (result i32)
    try (result i32) local.get 0 call $throw i32.const -1 catch $number i32.const 1 i32.add end)
  (func (export "catch-all") (param i32) (result i32)
    try (result i32) local.get 0 call $throw i32.const -1 catch $other i32.const -2 catch_all i32.const 7 end)
  (func (export "rethrow") (param i32) (result i32)
    try (result i32)
      try (result i32) local.get 0 call $throw i32.const -1 catch_all rethrow 0 end
    catch $number end)
  (func (export "delegate") (param i32) (result i32)
    try $t (result i32)
      try (result i32)
        try (result i32) local.get 0 call $throw i32.const -1 delegate $t
      catch_all i32.const -2 end
    catch $number i32.const 10 i32.mul end)
  (func (export "in-loop") (param $n i32) (result i32)
    (local $sum i32)
    loop $again
      try local.get $n call $throw catch $number local.get $sum i32.add local.set $sum end
      local.get $n i32.const 1 i32.sub local.tee $n br_if $again
    end
    local.get $sum)
  (func (export "no-throw") (param i32) (result i32)
    try (result i32) local.get 0 catch_all i32.const -1 end)
  (func (export "uncaught") (call $throw (i32.const 1))))
(assert_return (invoke "catch" (i32.const 41)) (i32.const 42))
(assert_return (invoke "catch-all" (i32.const 1)) (i32.const 7))
(assert_return (invoke "rethrow" (i32.const 9)) (i32.const 9))
(assert_return (invoke "delegate" (i32.const 4)) (i32.const 40))
(assert_return (invoke "in-loop" (i32.const 100)) (i32.const 5050))
(assert_return (invoke "no-throw" (i32.const 3)) (i32.const 3))
(assert_exception (invoke "uncaught"))
