import type { ResizableLimits } from './resizable-limits.ts';

/** A section as it lies in the module: its content, without id and length. */
export interface Section {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

export interface FunctionType {
  readonly params: number;
  readonly results: number;
  /** Slots that the parameters may take. */
  readonly paramSlots: number;
  readonly resultSlots: number;
  /** The same for all types that are the same; undefined when it names others, which can be done in several ways. */
  readonly signature: string | undefined;
  /** The results as they are written. */
  readonly resultBytes: Uint8Array;
}

/** A table or memory, its limits, and where these stand in the module. */
export interface Resizable {
  readonly kind: 'table' | 'memory';
  readonly imported: boolean;
  readonly limits: ResizableLimits;
  /** It may never be larger. */
  readonly most: number;
}

/** What planning and writing need to know of a module. */
export interface ModuleShape {
  readonly bytes: Uint8Array;
  readonly sections: ReadonlyMap<number, Section>;
  readonly types: readonly FunctionType[];
  readonly importedFunctions: number;
  /** The type of every function, imported ones first. */
  readonly functionTypes: readonly number[];
  readonly globals: number;
  /** Mutable globals of its own that a host can read and set. */
  readonly settableGlobals: readonly number[];
  /** Whether it has a mutable global or a table that no host can read and set: vectors, exceptions, typed references. */
  readonly hasHiddenState: boolean;
  readonly resizables: readonly Resizable[];
  /** How many values each tag carries, by index. */
  readonly tagTypes: readonly number[];
  readonly start: number | undefined;
  /** Whether a parameter, result or global is a vector: then any value on a stack may be one. */
  readonly hasVectors: boolean;
  /** Functions that the host can call, for which no caller of the guest's pays. */
  readonly entries: ReadonlySet<number>;
  /** Types of functions that, called by reference, may be imports. */
  readonly hostTypes: ReadonlySet<number>;
}

export const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
  tag: 13,
} as const;
