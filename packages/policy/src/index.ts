export {
  type ActivePolicies,
  type ActivePoliciesDeps,
  createActivePolicies,
  type PolicyChange,
  type PolicyChangeCause,
  type RuleChange,
} from './active-policies.ts';
export { type AlwaysHereInput, type AlwaysHereRule, type AskedEffect, alwaysHereRule } from './always-here.ts';
export {
  type CedarFailure,
  type CedarProblem,
  type NamedPolicy,
  type PolicyPart,
  policyToText,
  type SchemaSource,
  splitPolicies,
  type ValidationFinding,
  validatePolicies,
} from './cedar.ts';
export { type ApprovalState, toCedarRequest } from './cedar-request.ts';
export { renderCheckedPresets } from './checked-presets.ts';
export { compileOffLoop, diffOffLoop, explainOffLoop } from './compile-off-loop.ts';
export { compilePolicySet, type PolicySource } from './compile-policy-set.ts';
export { type CompiledPolicies, compilePolicies, type LoadedPolicies, loadPolicies } from './compiled-policies.ts';
export type { PolicyEngine } from './decide.ts';
export type { Decision, ReasonCode } from './decision.ts';
export {
  type DiffOptions,
  type DiffSide,
  diffPolicySets,
  type PolicyDiff,
  type Witness,
  type WitnessChange,
} from './diff.ts';
export type { CatalogueTool } from './diff-candidates.ts';
export {
  createEvaluator,
  type EvaluatedPolicy,
  type EvaluationRequest,
  type EvaluationResult,
  type Evaluator,
  type EvaluatorOptions,
} from './evaluator.ts';
export { type ExplainedFact, type ExplainedPolicy, type Explanation, explain, type FactOrigin } from './explain.ts';
export { leavingsOf } from './leavings.ts';
export { type PolicyTest, parsePolicyTests } from './parse-policy-tests.ts';
export { parseRule, RULE_FORMS, type RuleWords } from './parse-rule.ts';
export { POLICY_ERRORS, PolicyError, type PolicyErrorCode, type PolicyProblem } from './policy-error.ts';
export type { PolicyFile, PolicyOrigin, PolicyRecord, PolicySet, PolicyWarning, PresetName } from './policy-set.ts';
export { type PolicyTestResult, requirePassed, runPolicyTests, type TestDifference } from './policy-test.ts';
export { type PolicyTestFile, PRESET_NAMES, presetFiles, presetTests } from './presets.ts';
export { type PreviewInput, previewRule } from './preview-rule.ts';
export { type PolicyDirectory, type ReadOptions, readPolicyDirectory } from './read-policy-directory.ts';
export { renderKnownForms } from './render-known-forms.ts';
export type { CallFacts, PolicyEvaluationConfig, PolicyRequest, PolicyRequestContext } from './request.ts';
export { addRule, addRuleTest, type RuleBlock, removeRule, rulesIn } from './rule-blocks.ts';
export { EVERYTHING_LISTED } from './test-request.ts';
export { type WatchDirectory, watchDirectory } from './watch-directory.ts';
export type { WhatIf, WhatIfDeps } from './what-if.ts';
export { type AskedRequest, readWrittenRequest } from './written-request.ts';
