// eslint.config.mjs - what tsc does not see: above all that names from a recording never become markup
import tseslint from "typescript-eslint";

const markup = "Names come from programs that nobody here wrote: show them as text.";

export default tseslint.config(
  { ignores: ["dist/", "node_modules/"] },
  {
    files: ["src/**/*.{ts,tsx}"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      eqeqeq: "error",
      "max-lines": ["error", 400],
      "max-lines-per-function": ["error", { max: 120, skipComments: true }],
      "max-params": ["error", 5],
      "no-console": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: markup },
        { property: "outerHTML", message: markup },
        { property: "insertAdjacentHTML", message: markup },
        { property: "srcdoc", message: markup },
        { object: "document", property: "write", message: markup },
      ],
      "no-restricted-syntax": [
        "error",
        { selector: "JSXAttribute[name.name=/^(dangerouslySetInnerHTML|srcDoc)$/]", message: markup },
      ],
      "@typescript-eslint/no-non-null-assertion": "off", // an index that the loop just checked
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": "off",
    },
  },
);
