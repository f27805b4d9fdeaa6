/**
 * The real CLIs, and how each is told that its model is ours. Whatever they would ask of the world besides (updates,
 * statistics, lists of models) is turned off.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Package } from './install.ts';

export interface RealAgent {
  /** As `--agent` knows it. */
  readonly name: AgentName;
  readonly package: Package;
  /** As `--model` is told; the name of a model that the CLI allows more than a megabyte, where it has an opinion. */
  readonly model: string;
  /** Whether it says what a run costs; of the others the tokens are known. */
  readonly tellsCost: boolean;
  /** Writes what it wants to find in its files, and gives what it wants to find in its environment. */
  readonly prepare: (place: Place) => Readonly<Record<string, string>>;
}

export type AgentName = 'claude' | 'codex' | 'opencode' | 'gemini' | 'qwen' | 'copilot';

export interface Place {
  readonly home: string;
  /** Where the model is. */
  readonly url: string;
}

/** Long enough that no word of a stream contains it: the Copilot CLI masks its key wherever it occurs. */
const KEY = 'a-key-that-opens-nothing';

export const REAL_AGENTS: Readonly<Record<AgentName, RealAgent>> = {
  claude: {
    name: 'claude',
    package: {
      name: '@anthropic-ai/claude-code',
      version: '2.1.325',
      finish: '@anthropic-ai/claude-code/install.cjs',
    },
    model: 'claude-sonnet-4-5',
    tellsCost: true,
    prepare: ({ url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // Without it, it refuses to work on its own for root, who runs most containers.
      IS_SANDBOX: '1',
    }),
  },
  codex: {
    name: 'codex',
    package: { name: '@openai/codex', version: '0.166.0', finish: null },
    model: 'gpt-5.5',
    tellsCost: false,
    prepare: ({ home, url }) => {
      const provider = [
        'name = "ours"',
        `base_url = "${url}/v1"`,
        'env_key = "OUR_KEY"',
        'wire_api = "responses"',
      ];
      const config = ['model_provider = "ours"', '[model_providers.ours]', ...provider];
      write(join(home, '.codex', 'config.toml'), config.join('\n'));
      return { OUR_KEY: KEY };
    },
  },
  opencode: {
    name: 'opencode',
    package: { name: 'opencode-ai', version: '1.18.33', finish: 'opencode-ai/postinstall.mjs' },
    model: 'ours/scripted',
    tellsCost: true,
    prepare: ({ home, url }) => {
      const scripted = {
        limit: { context: 1_000_000, output: 8000 },
        cost: { input: 3, output: 15, cache_read: 1 },
      };
      const ours = {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${url}/v1`, apiKey: KEY },
        models: { scripted },
      };
      write(join(home, '.config', 'opencode', 'opencode.json'), JSON.stringify({ provider: { ours } }));
      return {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_MODELS_FETCH: '1',
      };
    },
  },
  gemini: {
    name: 'gemini',
    package: { name: '@google/gemini-cli', version: '0.61.0', finish: null },
    // Without a name it asks another model first which one to ask.
    model: 'gemini-2.5-pro',
    tellsCost: false,
    prepare: ({ home, url }) => {
      const settings = {
        // With an address of one's own it has to be told that the key is still Gemini's.
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      };
      write(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
      return { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url };
    },
  },
  qwen: {
    name: 'qwen',
    package: { name: '@qwen-code/qwen-code', version: '0.24.4', finish: null },
    model: 'qwen3-coder-plus',
    tellsCost: false,
    prepare: ({ home, url }) => {
      const settings = {
        // It would ask the model, with tools, what to remember: a question that no script expects.
        memory: { enableManagedAutoMemory: false },
        privacy: { usageStatisticsEnabled: false },
        general: { enableAutoUpdate: false },
      };
      write(join(home, '.qwen', 'settings.json'), JSON.stringify(settings));
      return { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'qwen3-coder-plus' };
    },
  },
  copilot: {
    name: 'copilot',
    package: { name: '@github/copilot', version: '1.0.102', finish: null },
    model: 'scripted',
    tellsCost: false,
    prepare: ({ url }) => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: KEY,
      COPILOT_PROVIDER_MAX_PROMPT_TOKENS: '1000000',
    }),
  },
};

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${content}\n`);
}
