([where, rules]) => axe.run(where, {
  ...rules,
  resultTypes: ["violations"],
  preload: false,
}).then((found) => found.violations
  .flatMap((rule) => rule.nodes.map((node) =>
    `${rule.id}: ${node.target} ${node.html.slice(0, 120)}`)))
