/** The part of V8's `WebAssembly` that we use. TypeScript declares it with the browser's library only. */
export interface WasmEngine {
  validate: (bytes: Uint8Array) => boolean;
  readonly Module: new (bytes: Uint8Array) => WasmModule;
  readonly Instance: new (module: WasmModule, imports?: WasmImports) => WasmInstance;
  readonly Memory: new (limits: WasmSize) => WasmMemory;
  readonly Table: new (limits: WasmSize & { readonly element: string }, value?: unknown) => WasmTable;
  readonly Global: new (type: { readonly value: string; readonly mutable: boolean }, value?: unknown) => WasmGlobal;
  readonly Tag: new (type: { readonly parameters: readonly string[] }) => object;
  readonly Exception: new (...args: never) => Error;
  readonly RuntimeError: new () => Error;
  readonly CompileError: new () => Error;
  readonly LinkError: new () => Error;
}

declare const compiled: unique symbol;

export interface WasmModule {
  readonly [compiled]: true;
}

export type WasmImports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export interface WasmInstance {
  readonly exports: Readonly<Record<string, unknown>>;
}

export interface WasmSize {
  readonly initial: number;
  readonly maximum?: number;
}

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

export interface WasmTable {
  readonly length: number;
  get(index: number): unknown;
}

export interface WasmGlobal {
  value: unknown;
}

export const engine: WasmEngine = (globalThis as unknown as { readonly WebAssembly: WasmEngine }).WebAssembly;
