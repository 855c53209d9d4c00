;; Sorts 50,000 numbers that a linear congruential generator makes.
(module
  (memory 4)
  (func $sort (param $low i32) (param $high i32)
    (local $i i32) (local $j i32) (local $pivot i32) (local $held i32)
    (block $done
      (loop $again
        (br_if $done (i32.ge_s (local.get $low) (local.get $high)))
        (local.set $i (local.get $low))
        (local.set $j (local.get $high))
        (local.set $pivot (i32.load
          (i32.shl (i32.shr_u (i32.add (local.get $low) (local.get $high)) (i32.const 1)) (i32.const 2))))
        (block $split
          (loop $swap
            (loop $up
              (if (i32.lt_s (i32.load (i32.shl (local.get $i) (i32.const 2))) (local.get $pivot))
                (then (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $up))))
            (loop $down
              (if (i32.gt_s (i32.load (i32.shl (local.get $j) (i32.const 2))) (local.get $pivot))
                (then (local.set $j (i32.sub (local.get $j) (i32.const 1))) (br $down))))
            (br_if $split (i32.gt_s (local.get $i) (local.get $j)))
            (local.set $held (i32.load (i32.shl (local.get $i) (i32.const 2))))
            (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.load (i32.shl (local.get $j) (i32.const 2))))
            (i32.store (i32.shl (local.get $j) (i32.const 2)) (local.get $held))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (local.set $j (i32.sub (local.get $j) (i32.const 1)))
            (br_if $swap (i32.le_s (local.get $i) (local.get $j)))))
        (call $sort (local.get $low) (local.get $j))
        (local.set $low (local.get $i))
        (br $again))))
  (func (export "run") (result i32)
    (local $i i32) (local $x i32)
    (local.set $x (i32.const 12345))
    (loop $fill
      (local.set $x (i32.add (i32.mul (local.get $x) (i32.const 1103515245)) (i32.const 12345)))
      (i32.store (i32.shl (local.get $i) (i32.const 2)) (i32.shr_u (local.get $x) (i32.const 8)))
      (br_if $fill (i32.lt_s (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 50000))))
    (call $sort (i32.const 0) (i32.const 49999))
    (i32.load (i32.const 100000))))
