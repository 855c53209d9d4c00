/** What is put into a body at one place. */
export const CHARGE = 0;
/** At the head of a loop: charged, and looked at. */
export const LOOP_CHARGE = 1;
export const BEFORE_CALL = 2;
/** The value on top of the stack may be NaN, and is made the one that all are. */
export const ONE_NAN = 8;
/** A call of an unmetered function: nothing is put there. */
export const NOT_AT_ALL = 7;
export const UNKNOWN_CALLEE = -1;
/** The callee is an import, or may be one: what it does cannot be undone, so it is not reached on credit. */
export const BEFORE_HOST_CALL = 3;
/** Another function, or whoever threw, has counted since we last looked. */
export const RELOAD = 4;
/** The function is left here. */
export const LEAVE = 5;
/** The length on top of the stack is charged, and looked at. */
export const BULK_CHARGE = 6;
/** `memory.grow` has just answered: its answer is noted. */
export const NOTE_GROWTH = 9;

/** The places of all functions one after another, in columns: there are some tens of thousands in a megabyte. */
export interface MeterPlaces {
  at: Int32Array;
  kind: Uint8Array;
  /** Fuel of a charge; for `BULK_CHARGE` how far the length is shifted to the right; for `BEFORE_CALL` the place that pays for it; for `ONE_NAN` the kind. */
  amount: Int32Array;
  /** How many blocks are open; for `BEFORE_CALL` the function that is called, or `UNKNOWN_CALLEE`. */
  depth: Int32Array;
  length: number;
}

/** One body: where it lies, which places are its own, and what decides how it is written. */
export interface BodyPlan {
  readonly type: number;
  /** Where the locals are declared. */
  readonly start: number;
  /** The first instruction. */
  readonly code: number;
  readonly end: number;
  readonly firstPlace: number;
  readonly endPlace: number;
  /** Parameters and locals. */
  readonly locals: number;
  /** Slots of eight bytes that a call of this function is counted as. */
  readonly frameSlots: number;
  readonly charges: number;
  readonly loops: number;
  /** Of metered functions and imports. */
  calls: number;
  readonly hasBulk: boolean;
  /** The kinds of NaN that are made here, as bits. */
  readonly nans: number;
  /** Exceptions arrive at labels that are also reached without one, so fuel cannot be kept in a local. */
  readonly hasTryTable: boolean;
  /** So little can happen here that whoever calls it pays, and the body is left as it is. */
  readonly isUnmetered: boolean;
}

export interface MeterPlan {
  readonly places: MeterPlaces;
  readonly bodies: readonly BodyPlan[];
  /** Whether any code can change a table, or give up a segment for good. */
  readonly changesTables: boolean;
  readonly dropsSegments: boolean;
}

export function createPlaces(capacity: number): MeterPlaces {
  return {
    at: new Int32Array(capacity),
    kind: new Uint8Array(capacity),
    amount: new Int32Array(capacity),
    depth: new Int32Array(capacity),
    length: 0,
  };
}

export function growPlaces(places: MeterPlaces): void {
  const capacity = places.at.length * 2;
  places.at = copied(places.at, new Int32Array(capacity));
  places.amount = copied(places.amount, new Int32Array(capacity));
  places.depth = copied(places.depth, new Int32Array(capacity));
  places.kind = copied(places.kind, new Uint8Array(capacity));
}

function copied<Column extends Int32Array | Uint8Array>(from: Column, into: Column): Column {
  into.set(from);
  return into;
}
