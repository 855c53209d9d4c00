/** The numbers of WASI preview 1 that are ever given here. */
export const ERRNO = {
  success: 0,
  badf: 8,
  exist: 20,
  fault: 21,
  fbig: 22,
  ilseq: 25,
  inval: 28,
  isdir: 31,
  loop: 32,
  mfile: 33,
  nametoolong: 37,
  noent: 44,
  nospc: 51,
  nosys: 52,
  notdir: 54,
  notempty: 55,
  notsock: 57,
  notsup: 58,
  perm: 63,
  rofs: 69,
  spipe: 70,
  notcapable: 76,
} as const;

export type ErrnoName = keyof typeof ERRNO;

/** Ends one WASI function with an error number; thrown and caught within it. */
export class WasiFault extends Error {
  readonly errno: number;

  constructor(name: ErrnoName) {
    super(name);
    this.errno = ERRNO[name];
  }
}

/** `throw fault('noent')`. */
export function fault(name: ErrnoName): WasiFault {
  return new WasiFault(name);
}
