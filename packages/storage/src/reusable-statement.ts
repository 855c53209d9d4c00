import type { Compilable } from 'kysely';
import { type StatementStep, statement } from './unit.ts';
import { checkParameters, type StoredValue } from './value.ts';

/** Stands in a query for a value that is given each time. */
interface Blank {
  readonly blank: string;
}

/**
 * A step of the same query with other values each time: building a query takes longer than running it. Throws as
 * `statement` does. `value` fits wherever a column's value goes.
 */
export function reusableStatement<Name extends string>(
  build: (value: (name: Name) => never) => Compilable,
  expect: { readonly rows?: number } = {},
): (values: Readonly<Record<Name, StoredValue>>) => StatementStep {
  const compiled = build((name) => ({ blank: name }) satisfies Blank as never).compile();
  const parameters = compiled.parameters as readonly (StoredValue | Blank)[];
  // Checked with what it will be: every blank is a column's value.
  const { sql, ...rest } = statement(
    { compile: () => ({ ...compiled, parameters: parameters.map((each) => (isBlank(each) ? null : each)) }) },
    expect,
  );
  return (values) => ({
    ...rest,
    sql,
    parameters: checkParameters(parameters.map((each) => (isBlank(each) ? values[each.blank as Name] : each))),
  });
}

function isBlank(value: StoredValue | Blank): value is Blank {
  return typeof value === 'object' && value !== null && 'blank' in value;
}
