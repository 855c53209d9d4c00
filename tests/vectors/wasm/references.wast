;; Typed references to functions.
(module
  (type $f (func (param i32) (result i32)))
  (func $double (type $f) (i32.mul (local.get 0) (i32.const 2)))
  (func $square (type $f) (i32.mul (local.get 0) (local.get 0)))
  (elem declare func $double $square)
  (func $apply (param (ref null $f) i32) (result i32) (call_ref $f (local.get 1) (local.get 0)))
  (func (export "double") (param i32) (result i32) (call $apply (ref.func $double) (local.get 0)))
  (func (export "null") (param i32) (result i32) (call $apply (ref.null $f) (local.get 0)))
  (func (export "in-loop") (param $n i32) (result i32)
    (local $f (ref $f)) (local $sum i32)
    (local.set $f (ref.func $square))
    (loop $l
      (local.set $sum (i32.add (local.get $sum) (call_ref $f (local.get $n) (local.get $f))))
      (br_if $l (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $sum)))
(assert_return (invoke "double" (i32.const 21)) (i32.const 42))
(assert_trap (invoke "null" (i32.const 1)) "null function reference")
(assert_return (invoke "in-loop" (i32.const 10)) (i32.const 385))
