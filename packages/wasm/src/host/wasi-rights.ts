const bit = (...numbers: readonly number[]): bigint => numbers.reduce((sum, each) => sum | (1n << BigInt(each)), 0n);

/** The rights of WASI preview 1 that decide something here; the others are told, and follow from what a descriptor is. */
export const RIGHT: Readonly<Record<'fdRead' | 'fdWrite' | 'pathFilestatSetSize', bigint>> = {
  fdRead: bit(1),
  fdWrite: bit(6),
  pathFilestatSetSize: bit(19),
};

const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** All of `fd_*` that a file has, from `fd_datasync` to `poll_fd_readwrite`. */
export const FILE_RIGHTS: bigint = bit(...range(0, 8), 21, 22, 23, 27);
/** No reading, writing, seeking or resizing: a directory is none of these. */
export const DIRECTORY_RIGHTS: bigint = bit(0, 3, 4, ...range(9, 21), 23, 24, 25, 26, 27);
export const INHERITED_RIGHTS: bigint = FILE_RIGHTS | DIRECTORY_RIGHTS;
export const STREAM_IN_RIGHTS: bigint = bit(1, 3, 21, 27);
export const STREAM_OUT_RIGHTS: bigint = bit(0, 3, 4, 6, 21, 27);
