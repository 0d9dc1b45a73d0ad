declare module "*.css";

interface ImportMeta {
  readonly env: { readonly MODE: string };
}
