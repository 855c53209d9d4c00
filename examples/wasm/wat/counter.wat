;; Counts its calls, by principal, under the key "n", and answers with the number. Build: see README.md.
(module
  (import "palyra" "kv_get" (func $kv_get (param i64 i32 i32) (result i32)))
  (import "palyra" "kv_put" (func $kv_put (param i64 i32 i32 i32 i32) (result i32)))
  (import "palyra" "fetch_result" (func $fetch_result (param i64 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0) "n")
  ;; Nobody's input is kept, so all of it goes to the same place.
  (func (export "palyra_alloc") (param $size i32) (result i32) (i32.const 4096))
  (func (export "palyra_call") (param $handle i64) (param $at i32) (param $size i32) (result i64)
    (local $count i32) (local $length i32) (local $to i32)
    ;; Four bytes were kept, or there is no such key.
    (if (i32.eq (call $kv_get (local.get $handle) (i32.const 0) (i32.const 1)) (i32.const 4))
      (then
        (drop (call $fetch_result (local.get $handle) (i32.const 16) (i32.const 4)))
        (local.set $count (i32.load (i32.const 16)))))
    (local.set $count (i32.add (local.get $count) (i32.const 1)))
    (i32.store (i32.const 16) (local.get $count))
    (drop (call $kv_put (local.get $handle) (i32.const 0) (i32.const 1) (i32.const 16) (i32.const 4)))
    ;; In decimal, from the last digit on.
    (local.set $to (i32.const 64))
    (loop $digit
      (local.set $to (i32.sub (local.get $to) (i32.const 1)))
      (i32.store8 (local.get $to) (i32.add (i32.const 48) (i32.rem_u (local.get $count) (i32.const 10))))
      (local.set $count (i32.div_u (local.get $count) (i32.const 10)))
      (br_if $digit (local.get $count)))
    (local.set $length (i32.sub (i32.const 64) (local.get $to)))
    (i64.or (i64.shl (i64.extend_i32_u (local.get $to)) (i64.const 32)) (i64.extend_i32_u (local.get $length)))))
