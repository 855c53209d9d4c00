/** One instruction of classic BPF as seccomp takes it. Where a jump names no label, it falls through. */
export type BpfInstruction =
  | { readonly kind: 'label'; readonly name: string }
  /** One 32-bit word of `struct seccomp_data` into the accumulator. */
  | { readonly kind: 'load'; readonly offset: number }
  | { readonly kind: 'and'; readonly value: number }
  | {
      readonly kind: 'jump_if';
      readonly test: JumpTest;
      readonly value: number;
      readonly whenTrue?: string;
      readonly whenFalse?: string;
    }
  | { readonly kind: 'return'; readonly value: number };

/** All of them unsigned; `any_bit`: the accumulator and the value share a bit. */
export type JumpTest = 'equal' | 'greater' | 'at_least' | 'any_bit';

/** The kernel's BPF_MAXINSNS. */
export const MAX_INSTRUCTIONS = 4096;

/**
 * `struct sock_filter[]` as the kernel reads it, little-endian on both architectures. Throws RangeError for what BPF
 * cannot say: a program that is too long, a jump backwards or over more than 255 instructions, a label that is missing.
 */
export function assemble(program: readonly BpfInstruction[]): Uint8Array<ArrayBuffer> {
  const labels = placeLabels(program);
  const code = program.filter((instruction) => instruction.kind !== 'label');
  if (code.length === 0 || code.length > MAX_INSTRUCTIONS) {
    throw new RangeError(`A BPF program of ${code.length} instructions.`);
  }
  const bytes = new Uint8Array(code.length * INSTRUCTION_BYTES);
  const view = new DataView(bytes.buffer);
  for (const [index, instruction] of code.entries()) {
    const { opcode, jumpTrue, jumpFalse, value } = encode(instruction, (label) => distance(labels, index, label));
    view.setUint16(index * INSTRUCTION_BYTES, opcode, true);
    view.setUint8(index * INSTRUCTION_BYTES + 2, jumpTrue);
    view.setUint8(index * INSTRUCTION_BYTES + 3, jumpFalse);
    view.setUint32(index * INSTRUCTION_BYTES + 4, uint32(value), true);
  }
  return bytes;
}

const INSTRUCTION_BYTES = 8;

/** linux/bpf_common.h: LD|W|ABS, ALU|AND|K, RET|K, and JMP|…|K. */
const OPCODES = { load: 0x20, and: 0x54, return: 0x06 } as const;
const JUMP_OPCODES: Readonly<Record<JumpTest, number>> = { equal: 0x15, greater: 0x25, at_least: 0x35, any_bit: 0x45 };

interface Encoded {
  readonly opcode: number;
  readonly jumpTrue: number;
  readonly jumpFalse: number;
  readonly value: number;
}

type CodeInstruction = Exclude<BpfInstruction, { readonly kind: 'label' }>;

function placeLabels(program: readonly BpfInstruction[]): ReadonlyMap<string, number> {
  const labels = new Map<string, number>();
  let index = 0;
  for (const instruction of program) {
    if (instruction.kind !== 'label') {
      index += 1;
      continue;
    }
    if (labels.has(instruction.name)) throw new RangeError(`The label ${instruction.name} is there twice.`);
    labels.set(instruction.name, index);
  }
  return labels;
}

function encode(instruction: CodeInstruction, jumpTo: (label: string | undefined) => number): Encoded {
  switch (instruction.kind) {
    case 'load':
      return { opcode: OPCODES.load, jumpTrue: 0, jumpFalse: 0, value: instruction.offset };
    case 'and':
      return { opcode: OPCODES.and, jumpTrue: 0, jumpFalse: 0, value: instruction.value };
    case 'return':
      return { opcode: OPCODES.return, jumpTrue: 0, jumpFalse: 0, value: instruction.value };
    case 'jump_if':
      return {
        opcode: JUMP_OPCODES[instruction.test],
        jumpTrue: jumpTo(instruction.whenTrue),
        jumpFalse: jumpTo(instruction.whenFalse),
        value: instruction.value,
      };
  }
}

/** Counted from the instruction after the jump, in eight bits: cut off, a jump would land inside some other rule. */
function distance(labels: ReadonlyMap<string, number>, from: number, label: string | undefined): number {
  if (label === undefined) return 0;
  const to = labels.get(label);
  if (to === undefined) throw new RangeError(`There is no label ${label}.`);
  const offset = to - from - 1;
  if (offset < 0 || offset > 255) throw new RangeError(`The jump to ${label} spans ${offset} instructions.`);
  return offset;
}

function uint32(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value >= 2 ** 32) throw new RangeError('This is no uint32.');
  return value;
}
