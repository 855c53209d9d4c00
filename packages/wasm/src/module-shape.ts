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
  /** The results as they are written. */
  readonly resultBytes: Uint8Array;
}

/** A table or memory, its limits, and where these stand in the module. */
export interface Resizable {
  readonly kind: 'table' | 'memory';
  readonly imported: boolean;
  readonly limits: ResizableLimits;
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
  readonly resizables: readonly Resizable[];
  /** How many values each tag carries, by index. */
  readonly tagTypes: readonly number[];
  readonly start: number | undefined;
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
