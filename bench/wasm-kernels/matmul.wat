;; C = A * B for matrices of 96 by 96 doubles.
(module
  (memory 8)
  (global $n i32 (i32.const 96))
  (func $fill (param $at i32) (param $seed f64)
    (local $i i32)
    (loop $next
      (f64.store (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 3)))
        (f64.mul (f64.convert_i32_s (i32.rem_s (local.get $i) (i32.const 17))) (local.get $seed)))
      (br_if $next (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (i32.mul (global.get $n) (global.get $n))))))
  (func (export "run") (result i32)
    (local $i i32) (local $j i32) (local $k i32) (local $sum f64) (local $a i32) (local $b i32)
    (call $fill (i32.const 0) (f64.const 0.5))
    (call $fill (i32.const 73728) (f64.const 0.25))
    (loop $rows
      (local.set $j (i32.const 0))
      (loop $columns
        (local.set $sum (f64.const 0))
        (local.set $k (i32.const 0))
        (local.set $a (i32.mul (local.get $i) (i32.const 768)))
        (local.set $b (i32.add (i32.const 73728) (i32.shl (local.get $j) (i32.const 3))))
        (loop $products
          (local.set $sum (f64.add (local.get $sum) (f64.mul (f64.load (local.get $a)) (f64.load (local.get $b)))))
          (local.set $a (i32.add (local.get $a) (i32.const 8)))
          (local.set $b (i32.add (local.get $b) (i32.const 768)))
          (br_if $products (i32.lt_s (local.tee $k (i32.add (local.get $k) (i32.const 1))) (global.get $n))))
        (f64.store
          (i32.add (i32.const 147456)
            (i32.shl (i32.add (i32.mul (local.get $i) (global.get $n)) (local.get $j)) (i32.const 3)))
          (local.get $sum))
        (br_if $columns (i32.lt_s (local.tee $j (i32.add (local.get $j) (i32.const 1))) (global.get $n))))
      (br_if $rows (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1))) (global.get $n))))
    (i32.trunc_sat_f64_s (f64.load (i32.const 150000)))))
