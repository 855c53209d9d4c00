/** What kind of result an instruction has that may be NaN. */
export const NO_NAN = 0;
export const NAN_F32 = 1;
export const NAN_F64 = 2;
export const NAN_F32X4 = 3;
export const NAN_F64X2 = 4;

type Ranges = readonly (readonly [from: number, to: number])[];

/** Per opcode, the kind of NaN that it may make. What only moves bits, as `neg` and loads do, makes none. */
export const SINGLE_NANS: Uint8Array = table([
  [
    NAN_F32,
    [
      [0x8d, 0x97],
      [0xb6, 0xb6],
    ],
  ],
  [
    NAN_F64,
    [
      [0x9b, 0xa5],
      [0xbb, 0xbb],
    ],
  ],
]);

/** The same for those after 0xfd. */
export const SIMD_NANS: Uint8Array = table([
  [
    NAN_F32X4,
    [
      [94, 94],
      [103, 106],
      [227, 233],
    ],
  ],
  [
    NAN_F64X2,
    [
      [95, 95],
      [116, 117],
      [122, 122],
      [148, 148],
      [239, 245],
    ],
  ],
]);

/**
 * Per opcode, the kind of value whose NaNs it takes from the top of the stack without telling one from another: it drops
 * them, compares or converts them, or makes another NaN of them.
 */
export const SINGLE_TAKES: Uint8Array = table([
  [
    NAN_F32,
    [
      [0x5b, 0x60],
      [0x8d, 0x97],
      [0xa8, 0xa9],
      [0xae, 0xaf],
      [0xbb, 0xbb],
    ],
  ],
  [
    NAN_F64,
    [
      [0x61, 0x66],
      [0x9b, 0xa5],
      [0xaa, 0xab],
      [0xb0, 0xb1],
      [0xb6, 0xb6],
    ],
  ],
]);

export const SIMD_TAKES: Uint8Array = table([
  [
    NAN_F32X4,
    [
      [65, 70],
      [95, 95],
      [103, 106],
      [227, 233],
      [248, 249],
    ],
  ],
  [
    NAN_F64X2,
    [
      [71, 76],
      [94, 94],
      [116, 117],
      [122, 122],
      [148, 148],
      [239, 245],
      [252, 253],
    ],
  ],
]);

function table(rows: readonly (readonly [kind: number, opcodes: Ranges])[]): Uint8Array {
  const kinds = new Uint8Array(256);
  for (const [kind, opcodes] of rows) {
    for (const [from, to] of opcodes) kinds.fill(kind, from, to + 1);
  }
  return kinds;
}
