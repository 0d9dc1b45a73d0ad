"""Agent Skills: folders with a SKILL.md, and what they bring, as tools."""
