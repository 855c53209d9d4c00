/** What a field of each type holds, in the chain. */
export interface TypeOfField {
  readonly id: string;
  readonly digest: string;
  readonly body: string;
  readonly snapshot: string;
  readonly name: string;
  readonly origin: string;
  readonly key: string;
  readonly signature: string;
  readonly count: number;
  readonly integer: number;
}

type Optional<Spec> = Spec extends `${string}?` ? true : Spec extends readonly ['', ...string[]] ? true : false;

type ValueOf<Spec, Types extends object> = Spec extends readonly string[]
  ? Exclude<Spec[number], ''>
  : Spec extends `${infer Type extends keyof Types & string}?`
    ? Types[Type]
    : Spec extends `${infer Type extends keyof Types & string}*`
      ? readonly Types[Type][]
      : Spec extends keyof Types
        ? Types[Spec]
        : never;

/** The shape that fields, written as in `ENTRY_KINDS`, have when each type of field is what `Types` says. */
export type Shape<Fields, Types extends object> = {
  readonly [Name in keyof Fields as Optional<Fields[Name]> extends true ? never : Name]: ValueOf<Fields[Name], Types>;
} & {
  readonly [Name in keyof Fields as Optional<Fields[Name]> extends true ? Name : never]?:
    | ValueOf<Fields[Name], Types>
    | undefined;
};
