import type { FunctionType } from './module-shape.ts';

/** The types by which a call by reference can reach an import, given the types of those imports that can be referred to. */
export function hostTypesOf(types: readonly FunctionType[], imports: readonly number[]): ReadonlySet<number> {
  if (imports.length === 0) return new Set();
  const signatures = new Set(imports.map((type) => types[type]?.signature));
  const indexes = [...types.keys()];
  // SECURITY: T-26 — the same type can be written in several ways once it names others: then any may be meant.
  if (signatures.has(undefined)) return new Set(indexes);
  return new Set(
    indexes.filter((index) => {
      const signature = types[index]?.signature;
      return signature === undefined || signatures.has(signature);
    }),
  );
}
