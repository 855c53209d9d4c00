/** What follows an opcode in the bytes. */
export const NOTHING = 0;
export const INDEX = 1;
export const TWO_INDEXES = 2;
export const ADDRESS = 3;
export const INT32 = 4;
export const INT64 = 5;
export const FLOAT32 = 6;
export const FLOAT64 = 7;
export const BYTES_16 = 8;
export const LANE = 9;
export const ADDRESS_LANE = 10;
export const HEAP_TYPE = 11;
export const VALUE_TYPES = 12;
/** Branches, calls, blocks and all else that the planner looks at itself. */
export const CONTROL = 13;
export const PREFIX = 14;
export const UNKNOWN = 15;

/** Opcodes by name, where the code names them. */
export const OP = {
  unreachable: 0x00,
  block: 0x02,
  loop: 0x03,
  if: 0x04,
  else: 0x05,
  try: 0x06,
  catch: 0x07,
  throw: 0x08,
  rethrow: 0x09,
  throwRef: 0x0a,
  end: 0x0b,
  br: 0x0c,
  brIf: 0x0d,
  brTable: 0x0e,
  return: 0x0f,
  call: 0x10,
  callIndirect: 0x11,
  returnCall: 0x12,
  returnCallIndirect: 0x13,
  callRef: 0x14,
  returnCallRef: 0x15,
  delegate: 0x18,
  catchAll: 0x19,
  tryTable: 0x1f,
  localGet: 0x20,
  localSet: 0x21,
  localTee: 0x22,
  globalGet: 0x23,
  globalSet: 0x24,
  tableSet: 0x26,
  memoryGrow: 0x40,
  i64Const: 0x42,
  i64LessSigned: 0x53,
  i64Sub: 0x7d,
  i64Or: 0x84,
  i64ShiftLeft: 0x86,
  i64ShiftRightUnsigned: 0x88,
  i64ExtendUnsigned: 0xad,
  refFunc: 0xd2,
  brOnNull: 0xd5,
  brOnNonNull: 0xd6,
  bulkPrefix: 0xfc,
  simdPrefix: 0xfd,
} as const;

/** One row of a table: opcodes from and to, what follows them, and by how many values the stack grows. */
export type OpcodeRow = readonly [from: number, to: number, follows: number, grows: number];

export interface OpcodeTable {
  readonly follows: Uint8Array;
  readonly grows: Int8Array;
}

export function opcodeTable(rows: readonly OpcodeRow[]): OpcodeTable {
  const follows = new Uint8Array(256).fill(UNKNOWN);
  const grows = new Int8Array(256);
  for (const [from, to, what, by] of rows) {
    follows.fill(what, from, to + 1);
    grows.fill(by, from, to + 1);
  }
  return { follows, grows };
}

/** The opcodes of one byte. Rows that come later overrule. */
export const SINGLE: OpcodeTable = opcodeTable([
  [0x00, 0x00, CONTROL, 0],
  [0x01, 0x01, NOTHING, 0],
  [0x02, 0x15, CONTROL, 0],
  [0x18, 0x19, CONTROL, 0],
  [0x1a, 0x1a, NOTHING, -1],
  [0x1b, 0x1b, NOTHING, -2],
  [0x1c, 0x1c, VALUE_TYPES, -2],
  [0x1f, 0x1f, CONTROL, 0],
  [0x20, 0x20, INDEX, 1],
  [0x21, 0x21, INDEX, -1],
  [0x22, 0x22, INDEX, 0],
  [0x23, 0x23, INDEX, 1],
  [0x24, 0x24, INDEX, -1],
  [0x25, 0x25, INDEX, 0],
  [0x26, 0x26, CONTROL, 0],
  [0x28, 0x35, ADDRESS, 0],
  [0x36, 0x3e, ADDRESS, -2],
  [0x3f, 0x3f, INDEX, 1],
  [0x40, 0x40, CONTROL, 0],
  [0x41, 0x41, INT32, 1],
  [0x42, 0x42, INT64, 1],
  [0x43, 0x43, FLOAT32, 1],
  [0x44, 0x44, FLOAT64, 1],
  // Comparisons and arithmetic take two and give one; the rows after this say which take one.
  [0x45, 0xa6, NOTHING, -1],
  [0x45, 0x45, NOTHING, 0],
  [0x50, 0x50, NOTHING, 0],
  [0x67, 0x69, NOTHING, 0],
  [0x79, 0x7b, NOTHING, 0],
  [0x8b, 0x91, NOTHING, 0],
  [0x99, 0x9f, NOTHING, 0],
  [0xa7, 0xc4, NOTHING, 0],
  [0xd0, 0xd0, HEAP_TYPE, 1],
  [0xd1, 0xd1, NOTHING, 0],
  [0xd2, 0xd2, INDEX, 1],
  [0xd4, 0xd4, NOTHING, 0],
  [0xd5, 0xd6, CONTROL, 0],
  [0xfc, 0xfd, PREFIX, 0],
]);

/** Opcodes that exist and are refused, each with the proposal it belongs to. */
export function proposalOf(opcode: number): string | undefined {
  switch (opcode) {
    case OP.returnCall:
    case OP.returnCallIndirect:
    case OP.returnCallRef:
      return 'tail calls';
    case 0xd3:
    case 0xfb:
      return 'garbage collection';
    case 0xfe:
      return 'threads (an atomic instruction)';
    default:
      return opcode >= 0xe0 && opcode <= 0xe6 ? 'stack switching' : undefined;
  }
}
