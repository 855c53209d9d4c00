/** Words that only a proposal's texts hold, for texts that no assembler reads. Proposals we run are not among them. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\breturn_call/, 'tail calls'],
  [
    /\b(?:struct|array|i31|anyref|eqref|structref|arrayref|i31ref|nullref|nullfuncref|nullexternref|nullexnref)\b/,
    'garbage collection',
  ],
  [
    /\(\s*(?:rec|sub)\b|\bref\.(?:test|cast|eq)\b|\bbr_on_cast|\bany\.convert|\bextern\.convert|\b(?:any|eq|none|nofunc|noextern|noexn)\)/,
    'garbage collection',
  ],
  [/\bshared\b|\batomic\b|\.atomic\./, 'threads'],
  [/\(\s*(?:memory|table)\s+(?:\$\S+\s+)?(?:\(\s*(?:export|import)[^)]*\)\s*)*i64\b/, 'memory64'],
  [/\brelaxed_/, 'relaxed SIMD'],
  [/\bpagesize\b/, 'custom page sizes'],
  [/\b(?:cont|suspend|resume|cont\.new)\b/, 'stack switching'],
  [/\bi64\.(?:add128|sub128|mul_wide)/, 'wide arithmetic'],
  [/\(@/, 'annotations'],
  [/\bdescriptor\b|\bdescribes\b|\bexact\b/, 'custom descriptors'],
];

/** Texts and names may hold any word. */
const NO_WORDS = /"(?:[^"\\]|\\.)*"|;;[^\n\r]*|\$[^\s()"]+/g;

export function proposalIn(source: string): string | undefined {
  const text = source.replace(NO_WORDS, ' ');
  const found = SIGNS.find(([sign]) => sign.test(text));
  if (found !== undefined) return found[1];
  return [...text.matchAll(/\(\s*memory\b(?!\.)/g)].length > 1 ? 'several memories' : undefined;
}
