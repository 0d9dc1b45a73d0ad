export function Agents() {
  return <div class="desk" />;
}
