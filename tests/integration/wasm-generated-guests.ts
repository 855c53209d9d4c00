/** Makes guests up: structured control flow with every kind of branch, call and exception, that always ends. */
export interface GeneratedGuest {
  readonly text: string;
  readonly exports: readonly string[];
}

interface Making {
  readonly random: () => number;
  readonly functions: number;
  /** Of the function that is being made: it calls only those behind it, so that calls end. */
  index: number;
  /** Labels that a branch forward may leave to, outermost first. */
  labels: string[];
  depth: number;
  counter: number;
}

const LOCALS = 4;
const DEEPEST = 5;

/** The same seed gives the same guest. */
export function generateGuest(seed: number): GeneratedGuest {
  const making: Making = { random: randomFrom(seed), functions: 0, index: 0, labels: [], depth: 0, counter: 0 };
  const functions = 3 + pick(making, 5);
  const all = { ...making, functions };
  const bodies = Array.from({ length: functions }, (_, index) => functionText(all, index));
  const text = `(module
    (import "host" "log" (func $log (param i32)))
    (tag $t (param i32))
    (type $f (func (param i32 i32) (result i32)))
    (memory (export "memory") 1 3)
    (global $g (export "g") (mut i32) (i32.const 7))
    (global $steps (export "steps") (mut i32) (i32.const 0))
    (table $table ${functions} funcref)
    (elem (i32.const 0) ${bodies.map((_, index) => `$f${index}`).join(' ')})
    (func $small (param i32) (result i32) (i32.add (i32.mul (local.get 0) (i32.const 31)) (i32.const 17)))
    (func $several (param i32) (result i32 i64 i32)
      (if (i32.and (local.get 0) (i32.const 1)) (then (return (i32.const 1) (i64.const 2) (local.get 0))))
      (local.get 0) (i64.extend_i32_s (local.get 0)) (i32.const 5))
    ${bodies.join('\n')})`;
  return { text, exports: bodies.map((_, index) => `f${index}`) };
}

function functionText(making: Making, index: number): string {
  making.index = index;
  making.labels = [];
  making.depth = 0;
  const body = statements(making, 3 + pick(making, 4));
  const locals = Array.from({ length: LOCALS }, () => '(local i32)').join(' ');
  // Locals 0 and 1 are the parameters; counters of loops come behind those that anybody may write.
  const counters = Array.from({ length: DEEPEST + 2 }, (_, level) => `(local $c${level} i32)`).join(' ');
  return `(func $f${index} (export "f${index}") (type $f) (param i32 i32) (result i32) ${locals} (local $wide i64) ${counters} ${body} ${expression(making, 3)})`;
}

function statements(making: Making, count: number): string {
  return Array.from(
    { length: count },
    () => `(global.set $steps (i32.add (global.get $steps) (i32.const 1))) ${statement(making)}`,
  ).join('\n');
}

function statement(making: Making): string {
  const kinds = making.depth >= DEEPEST ? SIMPLE : [...SIMPLE, ...NESTED, ...NESTED];
  return (kinds[pick(making, kinds.length)] as (making: Making) => string)(making);
}

const SIMPLE: readonly ((making: Making) => string)[] = [
  (making) => `(local.set ${pick(making, LOCALS + 2)} ${expression(making, 3)})`,
  (making) => `(global.set $g ${expression(making, 2)})`,
  (making) => `(call $log ${expression(making, 2)})`,
  (making) => `(i32.store8 (i32.and ${expression(making, 2)} (i32.const 1023)) ${expression(making, 2)})`,
  (making) =>
    `(memory.fill (i32.and ${expression(making, 1)} (i32.const 511)) ${expression(making, 1)} (i32.and ${expression(making, 1)} (i32.const 255)))`,
  (making) =>
    `(memory.copy (i32.and ${expression(making, 1)} (i32.const 511)) (i32.and ${expression(making, 1)} (i32.const 511)) (i32.and ${expression(making, 1)} (i32.const 63)))`,
  (making) => `(call $several ${expression(making, 1)}) (local.set 3) (local.set $wide) (local.set 4)`,
  branchOut,
  branchTable,
  (making) =>
    pick(making, 6) === 0 ? `(if ${expression(making, 2)} (then (return ${expression(making, 1)})))` : '(nop)',
  (making) =>
    pick(making, 12) === 0
      ? `(if (i32.eqz (i32.and ${expression(making, 2)} (i32.const 31))) (then (unreachable)))`
      : '(nop)',
  (making) =>
    pick(making, 4) === 0
      ? `(if (i32.eqz (i32.and ${expression(making, 2)} (i32.const 7))) (then (throw $t ${expression(making, 1)})))`
      : '(nop)',
  (making) => (pick(making, 6) === 0 ? '(drop (memory.grow (i32.const 1)))' : '(nop)'),
];

const NESTED: readonly ((making: Making) => string)[] = [
  (making) => `(block ${labelled(making, (inside) => statements(inside, 1 + pick(inside, 3)))})`,
  (making) =>
    `(if ${expression(making, 2)} (then ${nested(making)}) ${pick(making, 2) === 0 ? `(else ${nested(making)})` : ''})`,
  loopText,
  (making) =>
    `(block $h${making.depth} (result i32) (try_table (catch $t $h${making.depth}) ${nested(making)}) (i32.const 3)) (local.set 2)`,
  (making) => `try ${nested(making)} catch $t local.set 3 ${nested(making)} catch_all end`,
  (making) =>
    `(local.set 5 (if (result i32) ${expression(making, 2)} (then ${expression(making, 2)}) (else ${expression(making, 2)})))`,
];

function nested(making: Making): string {
  making.depth += 1;
  // What branches through a `try` is left to the labels outside of it, which are the same.
  const text = statements(making, 1 + pick(making, 3));
  making.depth -= 1;
  return text;
}

function labelled(making: Making, write: (making: Making) => string): string {
  making.counter += 1;
  const label = `$l${making.counter}`;
  making.labels.push(label);
  making.depth += 1;
  const text = `${label} ${write(making)}`;
  making.depth -= 1;
  making.labels.pop();
  return text;
}

/** A loop with a counter of its own that nobody else writes, so that it ends. */
function loopText(making: Making): string {
  const counter = `$c${making.depth}`;
  making.counter += 1;
  const head = `$again${making.counter}`;
  const body = nested(making);
  const turns = 1 + pick(making, 6);
  return `(local.set ${counter} (i32.const ${turns}))
    (loop ${head} ${body}
      (local.set ${counter} (i32.sub (local.get ${counter}) (i32.const 1)))
      (br_if ${head} (i32.gt_s (local.get ${counter}) (i32.const 0))))`;
}

function branchOut(making: Making): string {
  const label = making.labels[pick(making, making.labels.length)];
  return label === undefined ? '(nop)' : `(br_if ${label} ${expression(making, 2)})`;
}

function branchTable(making: Making): string {
  const { labels } = making;
  if (labels.length < 2) return '(nop)';
  const targets = Array.from({ length: 3 }, () => labels[pick(making, labels.length)]).join(' ');
  return `(if ${expression(making, 2)} (then (br_table ${targets} ${expression(making, 2)})))`;
}

const OPERATORS = ['add', 'sub', 'mul', 'xor', 'and', 'or', 'shl', 'rotl', 'lt_s', 'eq'];

function expression(making: Making, depth: number): string {
  const choice = depth === 0 ? pick(making, 2) : pick(making, 9);
  switch (choice) {
    case 0:
      return `(i32.const ${pick(making, 64) - 16})`;
    case 1:
      return `(local.get ${pick(making, LOCALS + 2)})`;
    case 2:
      return '(global.get $g)';
    case 3:
      return `(i32.load8_u (i32.and ${expression(making, depth - 1)} (i32.const 1023)))`;
    case 4:
      return `(call $small ${expression(making, depth - 1)})`;
    case 5:
      return callText(making, depth);
    case 6:
      // Most divisors are not zero: a guest that traps at once shows little.
      return `(i32.${pick(making, 2) === 0 ? 'div_u' : 'rem_s'} ${expression(making, depth - 1)} ${pick(making, 40) === 0 ? expression(making, depth - 1) : `(i32.const ${1 + pick(making, 9)})`})`;
    default:
      return `(i32.${OPERATORS[pick(making, OPERATORS.length)]} ${expression(making, depth - 1)} ${expression(making, depth - 1)})`;
  }
}

function callText(making: Making, depth: number): string {
  const behind = making.functions - making.index - 1;
  if (behind === 0) return '(global.get $g)';
  const callee = making.index + 1 + pick(making, behind);
  const args = `${expression(making, depth - 1)} ${expression(making, depth - 1)}`;
  if (pick(making, 2) === 0) return `(call $f${callee} ${args})`;
  return `(call_indirect $table (type $f) ${args} (i32.const ${callee}))`;
}

function pick(making: Making, below: number): number {
  return Math.floor(making.random() * Math.max(1, below));
}

/** mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
